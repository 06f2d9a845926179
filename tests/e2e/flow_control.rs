//! Priority and fairness: requests of other clients do not delay Mooring, because it has its own priority level in the
//! API server.

use std::sync::atomic::Ordering;

use hyper::Request;
use kube::client::Body;

use crate::harness::scene::Scene;

scenes![
    shared requests_of_mooring_have_their_own_priority_level,
    alone events_of_mooring_wait_at_another_level_than_its_other_requests,
];

/// A path that every account may read.
const VERSION: &str = "/version";

/// The UIDs of the `FlowSchema` and the priority level that the API server uses for a GET of this client. The response
/// has them even if the account has no right for the path.
async fn counted_by(client: &kube::Client, path: &str) -> [String; 2] {
    let request = Request::get(path).body(Body::empty());
    let answer = client
        .send(request.expect("a path is a request"))
        .await
        .expect("it answers");
    ["flowschema", "prioritylevel"].map(|part| {
        let name = format!("x-kubernetes-pf-{part}-uid");
        let uid = answer.headers().get(&name);
        uid.unwrap_or_else(|| panic!("no header {name}: {:?}", answer.headers()))
            .to_str()
            .expect("a UID is text")
            .to_owned()
    })
}

async fn uid(scene: &Scene, kind: &str, name: &str) -> String {
    let get = format!("get {kind} {name} --output jsonpath={{.metadata.uid}}");
    scene.kubectl(&get).await.success().trim().to_owned()
}

async fn requests_of_mooring_have_their_own_priority_level(scene: &Scene) {
    let cluster = scene.cluster();
    let ours = [
        uid(scene, "flowschema", "mooring").await,
        uid(scene, "prioritylevelconfiguration", "mooring").await,
    ];
    for account in ["mooring", "mooring-webhook", "mooring-controller"] {
        let client = cluster.client_of(account).await;
        assert_eq!(counted_by(&client, VERSION).await, ours, "{account}");
    }
    let others = counted_by(&cluster.client().await, VERSION).await;
    assert!(others.iter().all(|uid| !ours.contains(uid)), "{others:?}");
}

async fn events_of_mooring_wait_at_another_level_than_its_other_requests(scene: &Scene) {
    // Some accounts have no right for these paths. The judge must ignore these refusals.
    scene.rights_were_away.store(true, Ordering::Relaxed);
    let cluster = scene.cluster();
    let of_events = [
        uid(scene, "flowschema", "mooring-events").await,
        uid(scene, "prioritylevelconfiguration", "workload-low").await,
    ];
    let of_status = [
        uid(scene, "flowschema", "mooring").await,
        uid(scene, "prioritylevelconfiguration", "mooring").await,
    ];
    for account in ["mooring", "mooring-webhook", "mooring-controller"] {
        let client = cluster.client_of(account).await;
        for (path, level) in [
            (
                "/apis/events.k8s.io/v1/namespaces/default/events",
                &of_events,
            ),
            ("/apis/ip.wgtwo.com/v1alpha1/ips/web/status", &of_status),
            (
                "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                &of_status,
            ),
        ] {
            assert_eq!(&counted_by(&client, path).await, level, "{account}: {path}");
        }
    }
}
