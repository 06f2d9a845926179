//! At rest, Mooring reads and writes nothing except its inventories.

use std::time::{Duration, Instant};

use mooring_cluster::MooringOptions;

use crate::harness::scene::{SOON, Scene};

scenes![
    alone at_rest_nothing_is_written_and_each_subnet_is_listed_once_a_period,
    shared webhook_and_controller_of_a_process_share_one_watch_of_each_kind,
];

const PERIOD: Duration = Duration::from_secs(2);
const DESCRIBE: &str = "DescribeNetworkInterfaces";

async fn at_rest_nothing_is_written_and_each_subnet_is_listed_once_a_period(scene: &Scene) {
    let options = MooringOptions {
        inventory_interval: PERIOD,
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await;
    let (a, b) = tokio::join!(scene.node("a"), scene.node("b"));
    let block = scene.block().await;
    scene.expect_labelled(&a.name, &block).await;
    scene.expect_labelled(&b.name, &block).await;
    // One attached IP, one pod that waits for it, and one IP that is only reserved.
    let (held, _spare) = (scene.ip("held", 10).await, scene.ip("spare", 11).await);
    scene.pod("web", &held).await;
    scene.expect_attached(&held, "web").await;
    scene.pod("second", &held).await;
    scene.expect_event("ClaimedByOther", "second").await;
    quiet_for_a_period(scene).await;

    let mark = scene.cluster().audit_since(u64::MAX).1;
    let (begin, started) = (scene.count_requests().await, Instant::now());
    let before = scene.ec2().calls().await.of(DESCRIBE);
    scene
        .eventually("five periods more", Duration::from_mins(1), async || {
            let calls = scene.ec2().calls().await.of(DESCRIBE) - before;
            if calls >= 5 { Ok(()) } else { Err(calls) }
        })
        .await;
    let (costs, elapsed) = (begin.until_now(scene).await, started.elapsed());
    assert_eq!(costs.writes, Vec::<String>::new());
    assert!(costs.mutations.is_empty(), "{costs:?}");
    assert_eq!(costs.events, 0, "{costs:?}");
    assert_eq!(costs.other_describes, 0, "{costs:?}");
    let (audit, _) = scene.cluster().audit_since(mark);
    let read: Vec<_> = audit
        .iter()
        .filter(|event| event.by_mooring() && matches!(event.verb.as_str(), "get" | "list"))
        .map(|event| &event.uri)
        .collect();
    assert!(read.is_empty(), "objects that were read: {read:?}");
    // One block with one page: one call per period. On a slow machine periods are longer, never shorter.
    let most = elapsed.as_millis() / PERIOD.as_millis() + 1;
    assert!(
        u128::from(costs.describes) <= most,
        "{costs:?} in {elapsed:?}"
    );
}

/// Compares with the watches of `IPNode`s, because only the controller watches them. kube-controller-manager watches
/// every kind the same.
async fn webhook_and_controller_of_a_process_share_one_watch_of_each_kind(scene: &Scene) {
    scene
        .eventually("as many watches of each kind", SOON, async || {
            let metrics = scene.kubectl("get --raw /metrics").await;
            let watches = |resource: &str| {
                let labels = format!("resource=\"{resource}\"");
                let mut lines = metrics.stdout.lines();
                let line = lines.find(|line| {
                    line.starts_with("apiserver_longrunning_requests{")
                        && line.contains(&labels)
                        && line.contains("group=\"ip.wgtwo.com\"")
                        && line.contains("verb=\"WATCH\"")
                });
                line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            };
            let [nodes, ips, blocks] = ["ipnodes", "ips", "ipblocks"].map(watches);
            if nodes.is_some() && ips == nodes && blocks == nodes {
                Ok(())
            } else {
                Err((nodes, ips, blocks))
            }
        })
        .await;
}

/// Waits for a whole period without a write, so that the last Event after the start is written.
async fn quiet_for_a_period(scene: &Scene) {
    scene
        .eventually("a period without a write", SOON, async || {
            let begin = scene.count_requests().await;
            let before = scene.ec2().calls().await.of(DESCRIBE);
            scene
                .eventually("two lists", SOON, async || {
                    scene.ec2().calls().await.of(DESCRIBE) >= before + 2
                })
                .await;
            let costs = begin.until_now(scene).await;
            if costs.writes.is_empty() && costs.events == 0 {
                Ok(())
            } else {
                Err(costs.writes)
            }
        })
        .await;
}
