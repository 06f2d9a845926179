//! Addresses run out, in a block and on an interface.

use mooring_cluster::NodeSpec;
use serde_json::json;

use crate::harness::scene::Scene;

scenes![
    shared the_lowest_free_address_is_allocated,
    shared a_full_block_is_reported_until_an_address_is_free,
    shared a_full_interface_is_reported_until_a_slot_is_free,
];

async fn the_lowest_free_address_is_allocated(scene: &Scene) {
    // .0 to .3 are reserved by AWS, .5 is excluded, .6 is in use.
    let spec = json!({"excluded": [scene.address(5)]});
    let node = scene.node("a").await;
    scene
        .foreign_assign(&node.interfaces[0], &scene.address(6))
        .await;
    let block = scene.block_with(&spec).await;
    for (name, host) in [("one", 4), ("two", 7), ("three", 8)] {
        let ip = scene.allocated(name, &block).await;
        assert_eq!(ip.address, scene.address(host), "{name}");
    }
    let ip = crate::harness::scene::Ip {
        name: scene.named("two"),
        address: scene.address(7),
    };
    scene.delete("IP", &ip.name).await;
    scene.expect_gone(&ip).await;
    let again = scene.allocated("four", &block).await;
    assert_eq!(again.address, scene.address(7));
    // An allocated address is attached in the same way as any other.
    scene.pod("web", &again).await;
    scene.expect_attached(&again, "web").await;
}

async fn a_full_block_is_reported_until_an_address_is_free(scene: &Scene) {
    // The block has only .8 and .9.
    let spec = json!({"cidr": format!("{}/31", scene.address(8))});
    let block = scene.block_with(&spec).await;
    let first = scene.allocated("one", &block).await;
    scene.allocated("two", &block).await;
    let third = scene.ip_unreserved("three", &json!({"block": block})).await;
    scene
        .expect_reason("IP", &third.name, "Reserved", "False", "BlockExhausted")
        .await;
    scene.expect_event("BlockExhausted", &third.name).await;
    scene.delete("IP", &first.name).await;
    scene
        .expect_condition("IP", &third.name, "Reserved", "True")
        .await;
}

async fn a_full_interface_is_reported_until_a_slot_is_free(scene: &Scene) {
    let block = scene.block().await;
    let spec = NodeSpec::new("small")
        .instance_type("t3.micro")
        .interface(&scene.subnet);
    let node = scene.node_of(spec).await;
    scene.expect_labelled(&node.name, &block).await;
    let (one, two) = (scene.ip("one", 10).await, scene.ip("two", 11).await);
    scene.pod("one", &one).await;
    scene.expect_attached(&one, "one").await;
    scene.pod("two", &two).await;
    scene.expect_event("NodeFull", "two").await;
    let refused = scene.mutations().await;
    assert!(
        refused.iter().all(|mutation| mutation.result == "Success"),
        "no claim was made that EC2 had to refuse: {refused:?}"
    );
    scene.expect_attached(&one, "one").await;
    scene.delete("Pod", "one").await;
    scene.expect_attached(&two, "two").await;
}
