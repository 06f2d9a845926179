//! The network between Mooring and the API server, or EC2, fails: toxiproxy is in between.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mooring_cluster::{Mooring, MooringOptions, Node, Toxic, Toxiproxy};
use serde_json::json;

use crate::harness::objects::on;
use crate::harness::scene::{Ip, SOON, Scene};

scenes![
    alone a_half_open_watch_is_detected_and_the_holder_is_read_before_a_detach,
    alone an_expired_watch_lists_again_and_finds_deletions,
    alone a_rollout_over_a_slow_and_resetting_network_costs_no_extra_call,
    alone holders_stay_while_ec2_is_unreachable_and_work_continues_afterwards,
];

/// A watch without events is closed after 50 s, which is longer than the server timeout of a watch. The rest is a
/// reserve for a slow machine.
const NOTICED: Duration = Duration::from_secs(75);

/// Mooring behind a network that can fail, and a Deployment whose pod has its address.
struct Behind {
    network: Arc<Toxiproxy>,
    mooring: Arc<Mooring>,
    ip: Ip,
    pod: String,
    nodes: [Node; 2],
}

async fn behind(scene: &Scene) -> Behind {
    let network = scene.network().await;
    let api_server = network.to_api_server(scene.cluster()).await;
    let ec2 = network.to_ec2(scene.cluster()).await;
    let options = MooringOptions {
        api_server: Some(api_server),
        environment: vec![("AWS_ENDPOINT_URL_EC2".to_owned(), ec2)],
        ..MooringOptions::default()
    };
    let mooring = scene.mooring_with(options).await;
    let block = scene.block().await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    let ip = scene.ip("web", 10).await;
    scene
        .deployment_with("web", &ip, &json!({"template": on(&a)}))
        .await;
    let pod = scene.only_pod("web").await;
    scene.expect_attached(&ip, &pod).await;
    Behind {
        network,
        mooring,
        ip,
        pod,
        nodes: [a, b],
    }
}

/// Force-deletes the pod, and waits for its successor on the other node. Mooring receives no event of this.
async fn succeeded(scene: &Scene, behind: &Behind) -> String {
    scene.roll_out("web", &on(&behind.nodes[1])).await;
    scene
        .kubectl(&format!(
            "delete pod {} --force --grace-period=0",
            behind.pod
        ))
        .await
        .success();
    scene.expect_pod_gone(&behind.pod).await;
    // The old ReplicaSet can create a replacement for a short time, so only pods on the other node count.
    let there = behind.nodes[1].name.as_str();
    scene
        .eventually("the successor is on the other node", SOON, async || {
            let pods = scene.pods_of("web").await.into_iter();
            let mut pods = pods.filter(|(_, pod)| pod["spec"]["nodeName"] == there);
            pods.next().map(|(name, _)| name)
        })
        .await
}

/// The log of Mooring since this position.
fn log_since(mooring: &Mooring, mark: usize) -> String {
    mooring.log().split_off(mark)
}

async fn a_half_open_watch_is_detected_and_the_holder_is_read_before_a_detach(scene: &Scene) {
    let behind = behind(scene).await;
    let link = Toxiproxy::API_SERVER;
    behind.network.poison(link, Toxic::BlackHole).await;
    let mark = behind.mooring.log().len();
    let new = succeeded(scene, &behind).await;
    // The old connections stay open, so Mooring must close each of them because it receives nothing.
    for kind in ["Ip", "Block", "Pod", "Node", "Reservation"] {
        scene
            .eventually(
                &format!("the silent watch of {kind} is given up"),
                NOTICED,
                async || {
                    let log = log_since(&behind.mooring, mark);
                    log.lines()
                        .any(|line| line.contains("a watch was interrupted") && line.contains(kind))
                },
            )
            .await;
    }
    assert_eq!(
        scene.mutations().await.len(),
        1,
        "what cannot be read is not taken for gone"
    );
    behind.network.heal(link).await;
    scene
        .expect_attached_within(&behind.ip, &new, Duration::from_mins(1))
        .await;
    // A quorum read (a GET without a resourceVersion) answered 404 for the holder before the Unassign.
    let unassigned = scene.mutations().await[1].clone();
    assert_eq!(unassigned.action, "UnassignPrivateIpAddresses");
    let path = format!("/api/v1/namespaces/{}/pods/{}", scene.name, behind.pod);
    let (audit, _) = scene.cluster().audit_since(scene.audit_mark);
    let read = audit.iter().any(|event| {
        event.by_mooring()
            && event.verb == "get"
            && event.uri == path
            && event.code == 404
            && u64::try_from(event.answered.as_millisecond()).unwrap() <= unassigned.unix_ms
    });
    assert!(read, "the holder was not read before {unassigned}");
}

async fn an_expired_watch_lists_again_and_finds_deletions(scene: &Scene) {
    let behind = behind(scene).await;
    let spare = scene.node("spare").await;
    scene
        .expect_labelled(&spare.name, &scene.named("block"))
        .await;
    expect_nodes(scene, 3).await;
    let link = Toxiproxy::API_SERVER;
    behind.network.cut(link).await;
    let mark = behind.mooring.log().len();
    let new = succeeded(scene, &behind).await;
    scene.cluster().delete_node(&spare.name).await;
    // A new API server has no old events, so it answers an older watch with 410.
    scene.rights_were_away.store(true, Ordering::Relaxed);
    scene.cluster().restart_api_server().await;
    behind.network.heal(link).await;
    scene
        .eventually("a watch receives that it has expired", SOON, async || {
            log_since(&behind.mooring, mark).contains("too old resource version")
        })
        .await;
    scene
        .expect_attached_within(&behind.ip, &new, Duration::from_mins(2))
        .await;
    scene.expect_event("Moved", &behind.ip.name).await;
    // Mooring never reads a node to find out whether it is gone, so the change comes from the new list.
    expect_nodes(scene, 2).await;
}

/// Waits until the block counts this number of nodes.
async fn expect_nodes(scene: &Scene, count: u64) {
    let sentence = format!("the block has {count} nodes");
    scene
        .eventually(&sentence, SOON, async || {
            let block = scene.get("IPBlock", &scene.named("block")).await;
            let nodes = block.ok_or("no block")?["status"]["nodes"].clone();
            if nodes == count {
                Ok(())
            } else {
                Err(nodes.to_string())
            }
        })
        .await;
}

async fn a_rollout_over_a_slow_and_resetting_network_costs_no_extra_call(scene: &Scene) {
    let behind = behind(scene).await;
    let slow = Toxic::Latency(Duration::from_millis(150));
    for link in [Toxiproxy::API_SERVER, Toxiproxy::EC2] {
        behind.network.poison(link, slow).await;
    }
    scene.roll_out("web", &on(&behind.nodes[1])).await;
    scene
        .eventually("the address is on its way", SOON, async || {
            let ip = scene.get("IP", &behind.ip.name).await.ok_or("no IP")?;
            let target = &ip["status"]["networkInterfaceID"];
            if *target == behind.nodes[1].interfaces[0].as_str() {
                Ok(())
            } else {
                Err(target.to_string())
            }
        })
        .await;
    for link in [Toxiproxy::API_SERVER, Toxiproxy::EC2] {
        behind.network.poison(link, Toxic::Reset).await;
    }
    // An idle connection is reset only at its next use.
    let errors = async || {
        let name = "mooring_reconcile_errors_total";
        behind.mooring.metric(name, &[]).await
    };
    let before = errors().await;
    scene
        .eventually("requests fail", SOON, async || {
            errors().await >= before + 5.0
        })
        .await;
    for link in [Toxiproxy::API_SERVER, Toxiproxy::EC2] {
        behind.network.heal(link).await;
    }
    let new = scene.new_pod("web", &[&behind.pod]).await;
    scene
        .expect_attached_within(&behind.ip, &new, Duration::from_mins(1))
        .await;
    // A call without an answer can be repeated for the same interface. No other call is made.
    let [a, b] = &behind.nodes;
    let mut done: Vec<(String, Option<String>)> = scene
        .mutations()
        .await
        .into_iter()
        .filter(|mutation| mutation.result == "Success")
        .map(|mutation| (mutation.action, mutation.network_interface_id))
        .collect();
    done.dedup();
    let call = |action: &str, node: &Node| (action.to_owned(), node.interfaces.first().cloned());
    let expected = [
        call("AssignPrivateIpAddresses", a),
        call("UnassignPrivateIpAddresses", a),
        call("AssignPrivateIpAddresses", b),
    ];
    assert_eq!(done, expected);
}

async fn holders_stay_while_ec2_is_unreachable_and_work_continues_afterwards(scene: &Scene) {
    let behind = behind(scene).await;
    let second = scene.ip("second", 11).await;
    let before = scene.get("IP", &behind.ip.name).await.expect("it is there");
    behind
        .network
        .poison(Toxiproxy::EC2, Toxic::BlackHole)
        .await;
    // First EC2 does not answer, until the last inventory is too old for decisions. Then connections are refused.
    unanswered(scene, &behind.mooring, 3.0).await;
    behind.network.cut(Toxiproxy::EC2).await;
    // A new pod, and a rollout of the one that has its address.
    scene.pod("second", &second).await;
    scene.roll_out("web", &on(&behind.nodes[1])).await;
    let new = scene.new_pod("web", &[&behind.pod]).await;
    scene
        .expect_condition("Pod", &new, "ContainersReady", "True")
        .await;
    unanswered(scene, &behind.mooring, 2.0).await;
    let after = scene.get("IP", &behind.ip.name).await.expect("it is there");
    assert_eq!(
        before["status"]["podUID"], after["status"]["podUID"],
        "the claim is the old pod's"
    );
    scene.expect_attached(&behind.ip, &behind.pod).await;
    assert_eq!(scene.mutations().await.len(), 1);
    behind.network.heal(Toxiproxy::EC2).await;
    // Mooring calls EC2 again after 30 s at the latest.
    let limit = Duration::from_secs(90);
    scene.expect_attached_within(&behind.ip, &new, limit).await;
    scene.expect_attached_within(&second, "second", limit).await;
}

/// Waits for this number of further failed lists of interfaces.
async fn unanswered(scene: &Scene, mooring: &Mooring, count: f64) {
    let failed = async || {
        let name = "mooring_ec2_requests_total";
        let of = "action=\"DescribeNetworkInterfaces\"";
        let all = mooring.metric(name, &[of]).await;
        all - mooring.metric(name, &[of, "code=\"OK\""]).await
    };
    let begun = failed().await;
    scene
        .eventually(
            "EC2 is asked and does not answer",
            Duration::from_secs(90),
            async || {
                let now = failed().await - begun;
                if now >= count {
                    Ok(())
                } else {
                    Err(now.to_string())
                }
            },
        )
        .await;
}
