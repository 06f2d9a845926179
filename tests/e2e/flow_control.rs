//! What others ask of the API server does not keep Mooring waiting: it has seats of its own there.

use hyper::Request;
use kube::client::Body;

use crate::harness::scene::Scene;

scenes![shared requests_of_mooring_have_their_own_priority_level];

/// The `FlowSchema` and the priority level that a request of this client is counted by, as the API server says.
async fn counted_by(client: &kube::Client) -> [String; 2] {
    // Everybody may ask for that, whatever rights the account has.
    let request = Request::get("/version").body(Body::empty());
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

async fn uid(scene: &Scene, kind: &str) -> String {
    let get = format!("get {kind} mooring --output jsonpath={{.metadata.uid}}");
    scene.kubectl(&get).await.success().trim().to_owned()
}

async fn requests_of_mooring_have_their_own_priority_level(scene: &Scene) {
    let cluster = scene.cluster();
    let ours = [
        uid(scene, "flowschema").await,
        uid(scene, "prioritylevelconfiguration").await,
    ];
    for account in ["mooring", "mooring-webhook", "mooring-controller"] {
        let client = cluster.client_of(account).await;
        assert_eq!(counted_by(&client).await, ours, "{account}");
    }
    let others = counted_by(&cluster.client().await).await;
    assert!(others.iter().all(|uid| !ours.contains(uid)), "{others:?}");
}
