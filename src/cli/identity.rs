//! The identity of this process among the replicas.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The identity for the lease: `given`, which no other process may use. Otherwise the name of the pod or the host with
/// a random suffix, because a restarted container has the same pod name but is another process.
pub fn identity(given: Option<String>) -> String {
    given.unwrap_or_else(|| {
        let name = variable("POD_NAME")
            .or_else(|| variable("HOSTNAME"))
            .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "mooring".to_owned());
        // The standard library seeds each hasher with random numbers.
        let random = RandomState::new().build_hasher().finish();
        format!("{name}_{random:016x}")
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn two_processes_of_one_pod_are_two() {
        assert_ne!(identity(None), identity(None));
    }

    #[test]
    fn a_name_that_is_given_is_kept() {
        assert_eq!(identity(Some("mooring-0".into())), "mooring-0");
    }
}
