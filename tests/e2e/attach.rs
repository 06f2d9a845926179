//! A pod that asks for an address gets it.

use std::time::Duration;

use mooring_cluster::{Fault, MooringOptions};

use crate::harness::scene::Scene;

scenes![
    shared an_annotated_pod_gets_its_address_and_is_ready,
    alone attaching_costs_one_call_two_status_writes_one_pod_write_and_no_read,
];

async fn an_annotated_pod_gets_its_address_and_is_ready(scene: &Scene) {
    let block = scene.block().await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene.pod("web", &ip).await;
    let attached = scene.expect_attached(&ip, "web").await;
    assert_eq!(attached["status"]["networkInterfaceID"], node.interfaces[0]);
    scene.expect_pod_ready("web").await;
    for object in [&ip.name, "web"] {
        scene.expect_event("Attached", object).await;
        // An attach has one Event.
        let events = scene.events().await;
        let of_object = events.iter().filter(|event| {
            event["involvedObject"]["name"] == object && event["reportingComponent"] == "mooring"
        });
        let reasons = of_object.map(|event| &event["reason"]);
        let reasons: Vec<_> = reasons.filter(|reason| *reason != "Reserved").collect();
        assert_eq!(reasons, ["Attached"], "{events:#?}");
    }
    scene
        .expect_condition("IP", &ip.name, "Ready", "True")
        .await;
}

async fn attaching_costs_one_call_two_status_writes_one_pod_write_and_no_read(scene: &Scene) {
    // An inventory only at the start, and none while the scene runs.
    let options = MooringOptions {
        inventory_interval: Duration::from_mins(10),
        ..MooringOptions::default()
    };
    scene.ec2().reset_counters().await;
    scene.mooring_with(options).await;
    let node = scene.node("a").await;
    let block = scene.block().await;
    scene.expect_labelled(&node.name, &block).await;
    scene.expect_two_inventories().await;
    let ip = scene.ip("web", 10).await;
    // The kubelet writes the pod soon after it is bound. Such a write during the Record would make a read necessary, so
    // this scene lets the kubelet write before EC2 answers.
    let assign = Fault::hold_before()
        .of("AssignPrivateIpAddresses")
        .address(&ip.address);
    let fault = scene.ec2().fault(assign).await;
    let costs = scene.count_requests().await;
    scene.pod("web", &ip).await;
    scene
        .expect_condition("Pod", "web", "ContainersReady", "True")
        .await;
    scene.ec2().clear_fault(fault).await;
    scene.ec2().release_all().await;
    scene.expect_attached(&ip, "web").await;
    scene.expect_pod_ready("web").await;
    let costs = costs.until_now(scene).await;
    assert_eq!(costs.mutations, ["Assign Success"], "{costs:?}");
    assert_eq!(costs.describes, 0, "{costs:?}");
    assert_eq!(costs.status_writes, 2, "{costs:?}");
    assert_eq!(costs.pod_writes, 1, "{costs:?}");
    assert!(costs.reads_on_the_way.is_empty(), "{costs:?}");
}
