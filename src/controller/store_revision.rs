//! Publishes the revision of the store of the API server, from the answers about the `Lease`. Rule: R1.25.

use mooring_plan::names::ResourceVersion;
use mooring_plan::store_revision::Revision;
use tokio::sync::watch;

/// Publishes the revision.
#[derive(Debug, Default)]
pub(super) struct RevisionSender(watch::Sender<Revision>);

impl RevisionSender {
    pub(super) fn receiver(&self) -> watch::Receiver<Revision> {
        self.0.subscribe()
    }

    /// Publishes the version in the answer to a quorum read or to a write.
    pub(super) fn answered(&self, version: ResourceVersion) {
        self.publish(|known| known.answered(version));
    }

    /// Publishes a version from a watch.
    pub(super) fn watched(&self, version: ResourceVersion) {
        self.publish(|known| known.watched(version));
    }

    fn publish(&self, next: impl FnOnce(Revision) -> Revision) {
        self.0.send_if_modified(|known| {
            let now = next(*known);
            std::mem::replace(known, now) != now
        });
    }
}

#[cfg(test)]
mod tests {
    use mooring_plan::names::ResourceVersion;
    use mooring_plan::store_revision::Revision;

    use super::RevisionSender;

    #[test]
    fn a_receiver_is_notified_of_changes_only() {
        let sender = RevisionSender::default();
        let mut revision = sender.receiver();
        sender.answered(ResourceVersion(7));
        sender.watched(ResourceVersion(9));
        assert!(revision.has_changed().unwrap());
        let known = Revision::default().answered(ResourceVersion(9));
        assert_eq!(*revision.borrow_and_update(), known);
        sender.watched(ResourceVersion(8));
        sender.answered(ResourceVersion(9));
        assert!(!revision.has_changed().unwrap());
        sender.answered(ResourceVersion(3));
        assert!(revision.has_changed().unwrap());
        assert_eq!(*revision.borrow(), known.answered(ResourceVersion(3)));
    }
}
