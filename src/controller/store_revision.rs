//! The revision of the API server's store, as the answers about the `Lease` show it. It goes down only when the API
//! server was restored from a backup. So nothing else has to be asked for that. Rule: R1.25.

use mooring_plan::names::ResourceVersion;
use tokio::sync::watch;

/// What is known of the revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    /// The highest that was seen since the last restoration.
    pub(super) highest: ResourceVersion,
    /// How many restorations were seen.
    pub(super) restorations: u32,
}

/// Where the revision is told.
#[derive(Debug, Default)]
pub(super) struct RevisionSender(watch::Sender<Revision>);

impl RevisionSender {
    pub(super) fn receiver(&self) -> watch::Receiver<Revision> {
        self.0.subscribe()
    }

    /// The answer to a quorum read or to a write shows it. Of two requests, one after the other, the second answer shows
    /// at least what the first did, or the store is another one.
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

    /// A watch shows it. It may be late, so that a lower one says nothing.
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
