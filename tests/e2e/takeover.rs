//! A new leader reads all IPs in one list, and does not write what is already correct.

use std::time::Duration;

use mooring_cluster::MooringOptions;

use crate::harness::scene::{SOON, Scene};

scenes![alone a_successor_lists_all_ips_at_once_and_writes_nothing];

const PERIOD: Duration = Duration::from_secs(2);
const RESERVED: usize = 20;

fn options() -> MooringOptions {
    MooringOptions {
        inventory_interval: PERIOD,
        ..MooringOptions::default()
    }
}

async fn a_successor_lists_all_ips_at_once_and_writes_nothing(scene: &Scene) {
    let first = scene.mooring_with(options()).await;
    let node = scene.node("a").await;
    let block = scene.block().await;
    scene.expect_labelled(&node.name, &block).await;
    let held = scene.ip("held", 10).await;
    scene.pod("web", &held).await;
    scene.expect_attached(&held, "web").await;
    let mut reserved = Vec::new();
    for host in 0..RESERVED {
        let name = format!("spare-{host}");
        reserved.push(scene.ip(&name, u8::try_from(20 + host).unwrap()).await);
    }
    // Waits for the counts of the block. Otherwise the successor would write them.
    scene
        .eventually("the block counts all of them", SOON, async || {
            let block = scene.get("IPBlock", &block).await.expect("it is there");
            let counted = block["status"]["reserved"].as_u64();
            if counted == u64::try_from(RESERVED + 1).ok() {
                Ok(())
            } else {
                Err(counted)
            }
        })
        .await;
    assert!(first.terminate().await.success());

    let (begin, mark) = (
        scene.count_requests().await,
        scene.cluster().audit_since(u64::MAX).1,
    );
    let second = scene.mooring_with(options()).await;
    scene.cluster().register_webhooks(&[&second]).await;
    let inventories = || async { scene.ec2().calls().await.of("DescribeNetworkInterfaces") };
    let before = inventories().await;
    scene
        .eventually("it leads and has listed the subnet", SOON, async || {
            let leads = second.metric("mooring_leader", &[]).await > 0.5;
            let listed = inventories().await - before;
            if leads && listed >= 3 {
                Ok(())
            } else {
                Err((leads, listed))
            }
        })
        .await;
    let costs = begin.until_now(scene).await;
    assert_eq!(costs.writes, Vec::<String>::new());
    assert_eq!(costs.events, 0, "{costs:?}");
    assert!(costs.mutations.is_empty(), "{costs:?}");
    let (audit, _) = scene.cluster().audit_since(mark);
    let read: Vec<_> = audit
        .iter()
        .filter(|event| event.by_mooring() && event.resource == "ips" && event.verb == "get")
        .map(|event| &event.name)
        .collect();
    assert!(read.is_empty(), "IPs that were read one by one: {read:?}");
    let whole: Vec<_> = audit
        .iter()
        .filter(|event| event.by_mooring() && event.verb == "list")
        .map(|event| &event.uri)
        .filter(|uri| !uri.contains("limit="))
        .collect();
    assert!(whole.is_empty(), "lists without pages: {whole:?}");

    // The successor makes decisions.
    scene.pod("second", &reserved[0]).await;
    scene.expect_attached(&reserved[0], "second").await;
}
