//! The flags for authorization of the use of an IP.

use std::sync::Arc;

use clap::Args as ClapArgs;
use mooring_plan::admission::usage::TrustedControllers;

/// The flags.
#[derive(Debug, ClapArgs)]
#[group(id = "authorize")]
pub struct Args {
    /// Allow a pod to use an IP only if the user who creates the pod has the right `use` on the IP. If a controller
    /// of kube-system or of --trusted-controllers creates the pod, the service account of the pod must have the right
    #[arg(long, env = "MOORING_AUTHORIZE_USE")]
    authorize_use: bool,
    /// User names (not groups) that create pods on behalf of others, such as
    /// system:serviceaccount:argo:workflow-controller; those of kube-system need not be named (--authorize-use)
    #[arg(
        long,
        env = "MOORING_TRUSTED_CONTROLLERS",
        value_name = "USERS",
        value_delimiter = ',',
        requires = "authorize_use"
    )]
    trusted_controllers: Vec<String>,
}

impl Args {
    /// The controllers whose pods are checked by the rights of the service accounts of the pods. None: no right is
    /// checked.
    pub fn trusted(&self) -> Option<Arc<TrustedControllers>> {
        let trusted = || Arc::new(self.trusted_controllers.iter().cloned().collect());
        self.authorize_use.then(trusted)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Args;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn read(line: &str) -> Result<Args, clap::Error> {
        let words = ["mooring"].into_iter().chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn without_the_flag_no_right_is_checked() {
        assert_eq!(read("").unwrap().trusted(), None);
        let none = read("--authorize-use").unwrap().trusted().unwrap();
        assert_eq!(*none, std::iter::empty().collect());
    }

    #[test]
    fn controllers_are_named_one_by_one_or_with_commas() {
        let line = "--authorize-use --trusted-controllers=a:b,c --trusted-controllers=d";
        let trusted = read(line).unwrap().trusted().unwrap();
        assert_eq!(
            *trusted,
            ["a:b", "c", "d"].map(str::to_owned).into_iter().collect()
        );
        // Without --authorize-use the flag would have no effect.
        read("--trusted-controllers=a:b").unwrap_err();
    }
}
