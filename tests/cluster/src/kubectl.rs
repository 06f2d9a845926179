//! The real kubectl.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::cluster::Cluster;
use crate::paths::control_plane_binary;

/// The output of a kubectl command.
#[derive(Clone, Debug)]
pub struct Output {
    /// Whether the exit code is 0.
    pub ok: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error: messages, warnings.
    pub stderr: String,
}

impl Output {
    /// The standard output of a command that must succeed.
    ///
    /// # Panics
    /// If the command failed.
    pub fn success(self) -> String {
        assert!(self.ok, "kubectl failed: {}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The message of a command that must fail.
    ///
    /// # Panics
    /// If the command succeeded.
    pub fn failure(self) -> String {
        assert!(
            !self.ok,
            "kubectl succeeded, and should not have: {}",
            self.stdout
        );
        self.stderr
    }
}

impl Cluster {
    /// Runs kubectl as the administrator of the cluster.
    pub async fn kubectl<I, S>(&self, arguments: I) -> Output
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.kubectl_with(arguments, "").await
    }

    /// Runs kubectl with text on its standard input, as in `apply -f -`.
    pub async fn kubectl_with<I, S>(&self, arguments: I, input: &str) -> Output
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let mut command = Command::new(control_plane_binary("kubernetes", "kubectl"));
        command
            .args(arguments.into_iter().map(Into::into))
            .env("KUBECONFIG", self.kubeconfig())
            // A discovery cache in HOME could belong to another cluster, because ports are reused.
            .env("KUBECACHEDIR", self.folder().join("kubectl"))
            .current_dir(crate::paths::repository())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let input = input.to_owned();
        tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("kubectl can be started");
            let mut stdin = child.stdin.take().expect("stdin is piped");
            // kubectl may fail before it has read all input; its message is better than the error of the pipe.
            let _ = stdin.write_all(input.as_bytes());
            drop(stdin);
            let output = child.wait_with_output().expect("kubectl can be waited for");
            Output {
                ok: output.status.success(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            }
        })
        .await
        .expect("the thread of kubectl does not panic")
    }
}
