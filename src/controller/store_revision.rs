//! The revision of the store of the API server (etcd), from the answers about the `Lease`. It decreases only when the
//! store was restored from a backup, so no other request is needed to detect a restoration. Rule: R1.25.

use mooring_plan::names::ResourceVersion;
use tokio::sync::watch;

/// The known revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    /// The highest revision since the last restoration.
    pub(super) highest: ResourceVersion,
    /// The number of restorations that were detected.
    pub(super) restorations: u32,
}

/// Publishes the revision.
#[derive(Debug, Default)]
pub(super) struct RevisionSender(watch::Sender<Revision>);

impl RevisionSender {
    pub(super) fn receiver(&self) -> watch::Receiver<Revision> {
        self.0.subscribe()
    }

    /// Applies the version in the answer to a quorum read or to a write. Of two requests in sequence the second answer
    /// has at least the revision of the first, unless the store was restored.
    pub(super) fn answered(&self, version: ResourceVersion) {
        self.0.send_if_modified(|known| {
            let before = *known;
            known.restorations = before
                .restorations
                .saturating_add(u32::from(version < before.highest));
            known.highest = version;
            *known != before
        });
    }

    /// Applies a version from a watch. A watch can be late, so a lower version means nothing.
    pub(super) fn watched(&self, version: ResourceVersion) {
        self.0.send_if_modified(|known| {
            let news = version > known.highest;
            if news {
                known.highest = version;
            }
            news
        });
    }
}

#[cfg(test)]
mod tests {
    use mooring_plan::names::ResourceVersion;

    use super::{Revision, RevisionSender};

    fn known(highest: u64, restorations: u32) -> Revision {
        Revision {
            highest: ResourceVersion(highest),
            restorations,
        }
    }

    #[test]
    fn a_lower_answer_is_a_restoration_and_a_lower_event_of_a_watch_is_late() {
        let sender = RevisionSender::default();
        let revision = sender.receiver();
        sender.answered(ResourceVersion(7));
        sender.watched(ResourceVersion(9));
        sender.watched(ResourceVersion(8));
        assert_eq!(*revision.borrow(), known(9, 0));
        sender.answered(ResourceVersion(9));
        assert_eq!(*revision.borrow(), known(9, 0));
        sender.answered(ResourceVersion(3));
        assert_eq!(*revision.borrow(), known(3, 1));
        sender.answered(ResourceVersion(4));
        assert_eq!(*revision.borrow(), known(4, 1));
    }
}
