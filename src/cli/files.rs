//! The limit of open files. Most of them are network connections.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Enough files for all connections of the webhook and of the metrics, for API requests and for calls of EC2.
const ENOUGH: u64 = 4096;

/// Raises the soft limit, which is often 1024, to 4096 or to the hard limit, whichever is lower. Returns the resulting
/// soft limit. None: unlimited.
pub fn raise() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if limit.current.is_some_and(|current| current < most) {
        limit.current = Some(most);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "the limit of open files cannot be raised");
        }
    }
    let current = getrlimit(Resource::Nofile).current;
    if let Some(current) = current.filter(|current| *current < ENOUGH) {
        tracing::warn!(
            current,
            enough = ENOUGH,
            "the limit of open files is low: many connections can leave none for Mooring's own requests"
        );
    }
    current
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH, raise};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    #[test]
    fn the_soft_limit_is_raised_as_far_as_is_needed_and_allowed() {
        let before = getrlimit(Resource::Nofile);
        let low = Rlimit {
            current: Some(256),
            ..before
        };
        setrlimit(Resource::Nofile, low).unwrap();
        let most = before.maximum.unwrap_or(ENOUGH).min(ENOUGH);
        assert_eq!(raise(), Some(most));
        // A limit that is high enough is not changed.
        setrlimit(Resource::Nofile, before).unwrap();
        let expected = before.current.map(|current| current.max(most));
        assert_eq!(raise(), expected);
    }
}
