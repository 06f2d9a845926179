//! The engine receives a restoration from a backup, and then the watch is restarted. Which versions mean a
//! restoration is tested in `plan/tests/promises/restored.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;
use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::ResourceVersion;
use mooring_plan::store_revision::Revision;
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use super::ListVersion;
use crate::controller::apis::Apis;
use crate::controller::watch::watched_kind::WatchedKind;
use crate::fake_api::api_server;
use crate::metrics::Metrics;

/// The version of the list of one kind, and the restorations that the engine receives.
struct Followed {
    version: ListVersion,
    revision: Revision,
    /// The version that the API server gives to the next list.
    now: Arc<AtomicU64>,
    reported: mpsc::Receiver<Fact>,
    /// Notified when the watch has to be restarted.
    set_back: Arc<Notify>,
}

impl Followed {
    fn new() -> Self {
        let now = Arc::<AtomicU64>::default();
        let next = Arc::clone(&now);
        let client = api_server(move |_, _, _| {
            let version = next.load(Ordering::Relaxed).to_string();
            let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                "metadata": {"resourceVersion": version}, "items": []});
            (200, list)
        });
        let (facts, reported) = mpsc::channel(16);
        let watched = WatchedKind::of(Kind::Ip, &Apis::new(client));
        let set_back = Arc::new(Notify::new());
        Self {
            version: ListVersion::new(watched, facts, Arc::clone(&set_back), Metrics::new()),
            revision: Revision::default(),
            now,
            reported,
            set_back,
        }
    }

    /// A relist that shows this version. Returns how many restorations the engine receives.
    async fn relisted(&mut self, version: u64) -> usize {
        self.now.store(version, Ordering::Relaxed);
        assert!(self.version.ask().await.is_ok());
        self.restorations()
    }

    /// An answer about the `Lease` with this version.
    async fn leased(&mut self, version: u64) -> usize {
        self.revision = self.revision.answered(ResourceVersion(version));
        assert!(self.version.lease_shows(self.revision).await.is_ok());
        self.restorations()
    }

    /// The restorations that the engine received since the last call. The watch is restarted for each.
    fn restorations(&mut self) -> usize {
        let mut count = 0;
        while let Ok(fact) = self.reported.try_recv() {
            assert_eq!(fact, Fact::Restored(Kind::Ip));
            count += 1;
        }
        let restarted = self.set_back.notified().now_or_never().is_some();
        assert_eq!(restarted, count > 0, "the watch");
        count
    }
}

#[tokio::test]
async fn a_restoration_that_the_lease_shows_first_is_noticed_once() {
    let mut kind = Followed::new();
    assert_eq!(kind.relisted(150).await, 0);
    assert_eq!(kind.leased(200).await, 0);
    assert_eq!(kind.leased(100).await, 1);
    assert_eq!(kind.relisted(101).await, 0);
    assert_eq!(kind.leased(102).await, 0);
}

#[tokio::test]
async fn a_restoration_that_a_list_shows_first_is_noticed_once() {
    let mut kind = Followed::new();
    assert_eq!(kind.relisted(150).await, 0);
    assert_eq!(kind.leased(200).await, 0);
    assert_eq!(kind.relisted(100).await, 1);
    assert_eq!(kind.leased(101).await, 0);
    assert_eq!(kind.relisted(102).await, 0);
}
