//! Clocks that do not agree: timestamps of another machine are only compared for equality, never interpreted as times.

use std::time::Duration;

use mooring_cluster::{Mooring, MooringOptions};
use serde_json::json;

use crate::harness::scene::{SOON, Scene};

scenes![alone a_lease_is_valid_while_it_is_renewed_whatever_its_timestamps];

/// The lease duration that the other replica writes.
const LEASE: Duration = Duration::from_secs(3);

async fn leads(mooring: &Mooring) -> bool {
    mooring.metric("mooring_leader", &[]).await > 0.5
}

/// Writes the Lease as another replica that renewed it at this time.
async fn renewed(scene: &Scene, time: &str) {
    let spec = json!({"holderIdentity": "elsewhere", "leaseDurationSeconds": LEASE.as_secs(),
        "acquireTime": time, "renewTime": time});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "mooring", "namespace": "mooring-system"}, "spec": spec});
    scene.cluster().apply(&lease.to_string()).await;
}

async fn a_lease_is_valid_while_it_is_renewed_whatever_its_timestamps(scene: &Scene) {
    // The clock of the other replica is decades behind: by our clock the Lease expired long ago.
    renewed(scene, "1971-01-01T00:00:00.000000Z").await;
    let options = MooringOptions {
        arguments: [
            "--lease-duration=3s",
            "--lease-renew-deadline=2s",
            "--lease-retry-period=500ms",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..MooringOptions::default()
    };
    let mut second = 0;
    let mut renew = async || {
        second += 1;
        let (minute, second) = (second / 60, second % 60);
        renewed(
            scene,
            &format!("1971-01-01T00:{minute:02}:{second:02}.000000Z"),
        )
        .await;
    };
    // It is renewed also while Mooring starts, which can take longer than the Lease lasts.
    let mut start = std::pin::pin!(scene.mooring_with(options));
    let mooring = loop {
        tokio::select! {
            mooring = &mut start => break mooring,
            () = async { renew().await; tokio::time::sleep(LEASE / 6).await } => {}
        }
    };
    scene
        .remains("what is renewed is respected", LEASE * 3, async || {
            renew().await;
            !leads(&mooring).await
        })
        .await;
    scene
        .eventually("a lease without renewals is taken", SOON, async || {
            leads(&mooring).await
        })
        .await;
    // The clock of the other replica is far ahead: by our clock the Lease would last for decades.
    renewed(scene, "2100-01-01T00:00:00.000000Z").await;
    for (sentence, leading) in [
        ("a replica without the Lease does not lead", false),
        ("it takes the Lease when it is not renewed", true),
    ] {
        scene
            .eventually(sentence, SOON, async || leads(&mooring).await == leading)
            .await;
    }
    scene.attached_pod().await;
}
