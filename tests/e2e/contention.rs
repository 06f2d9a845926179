//! Two pods ask for one IP: one gets it, and the other gets a reason.

use serde_json::json;

use crate::harness::scene::{SOON, Scene};

scenes![
    shared of_two_pods_one_is_the_holder_and_the_other_follows,
    shared of_two_replicas_of_one_revision_the_first_keeps_the_address,
];

async fn of_two_pods_one_is_the_holder_and_the_other_follows(scene: &Scene) {
    let block = scene.block().await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    let ip = scene.ip("web", 10).await;
    tokio::join!(scene.pod("one", &ip), scene.pod("two", &ip));
    let winner = scene
        .eventually("one of the two has it", SOON, async || {
            let mut seen = String::new();
            for pod in ["one", "two"] {
                match scene.attached(&ip, pod).await {
                    Ok(_) => return Ok(pod),
                    Err(missing) => seen = missing,
                }
            }
            Err(seen)
        })
        .await;
    let loser = if winner == "one" { "two" } else { "one" };
    let note = scene.expect_event("ClaimedByOther", loser).await;
    assert!(
        note.contains(&format!("{}/{winner}", scene.name)),
        "the holder is named: {note}"
    );
    scene.expect_attached(&ip, winner).await;
    scene.delete("Pod", winner).await;
    scene.expect_attached(&ip, loser).await;
}

async fn of_two_replicas_of_one_revision_the_first_keeps_the_address(scene: &Scene) {
    let block = scene.block().await;
    let nodes = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&nodes.0.name, &block).await;
    scene.expect_labelled(&nodes.1.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.deployment("web", &ip).await;
    let first = scene.only_pod("web").await;
    scene.expect_attached(&ip, &first).await;
    scene
        .patch("Deployment", "web", &json!({"spec": {"replicas": 2}}))
        .await;
    let second = scene.new_pod("web", &[&first]).await;
    scene.expect_event("ClaimedByOther", &second).await;
    let calls = scene.mutations().await.len();
    // While two pods name one IP, ReplicaSets are read every 5 s (R1.21). These reads must not move the address.
    scene
        .remains(
            "the first keeps it",
            std::time::Duration::from_secs(7),
            async || scene.attached(&ip, &first).await,
        )
        .await;
    assert_eq!(scene.mutations().await.len(), calls);
}
