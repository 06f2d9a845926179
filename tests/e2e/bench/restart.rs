//! Measures the cost of a restart, and the time of a move right after it.

use std::time::Instant;

use super::cluster::{Bench, STAYING, options};
use super::figures::{Figure, expect, number};
use super::timeline::{Since, millis, times};

/// Restarts Mooring. Returns the seconds from its start until it is the leader and counts all attached addresses.
pub async fn restart(bench: &mut Bench<'_>, attached: usize) -> f64 {
    assert!(bench.mooring.terminate().await.success());
    let (mark, started) = (bench.mark().await, Instant::now());
    bench.mooring = bench.scene.mooring_with(options()).await;
    let scene = bench.scene;
    scene
        .eventually(
            "it leads and has an inventory",
            super::cluster::LONG,
            async || {
                let leads = bench.mooring.metric("mooring_leader", &[]).await > 0.5;
                let counts = bench
                    .mooring
                    .metric("mooring_addresses", &["state=\"attached\""])
                    .await;
                leads && counts > number(attached) - 0.5
            },
        )
        .await;
    let took = started.elapsed().as_secs_f64();
    bench.quiet_leader().await;
    let counted = bench.since(&mark).await;
    let writes = counted.all_writes();
    expect(writes == 0 && counted.mutations() == 0, || {
        format!(
            "a restart writes: {:#?}, {} calls",
            counted.writes(),
            counted.mutations()
        )
    });
    let interfaces = counted.lists_of_interfaces;
    // The sizes above 1,000 follow the failover, which has a subnet of its own.
    let subnets = if attached > 1_000 { 2 } else { 1 };
    expect(
        (2 * subnets + 1..=3 * subnets).contains(&counted.describes) && interfaces == subnets,
        || {
            format!(
                "a restart with {subnets} subnets has {} describes, {interfaces} of interfaces",
                counted.describes
            )
        },
    );
    let others = if attached == 500 {
        ("30 / 11", "1,504 / 1,501")
    } else {
        ("", "")
    };
    Figure::new(
        &format!("restart-{attached}"),
        &format!("restart with {attached} IPs: describes (of interfaces) / writes; until it leads and counts"),
    )
    .others(others.0, others.1)
    .goal("3 (1) / 0")
    .is(format!(
        "{} ({interfaces}) / {writes}; {took:.1} s",
        counted.describes
    ));
    took
}

/// Deletes a pod as soon as Mooring is ready, while the next pod waits for its IP.
pub async fn then_a_move(bench: &mut Bench<'_>) {
    // The first IP of the growth phase. Its next pod is on the last node, which has no other pod.
    let ip = 0..1;
    let last = bench.nodes.len() - 1..bench.nodes.len();
    assert!(last.start > STAYING);
    bench.pods("next", ip.clone(), &last).await;
    bench.bound("next", 1).await;
    bench.quiet().await;
    assert!(bench.mooring.terminate().await.success());
    bench.full_buckets().await;
    let (mark, started) = (bench.mark().await, jiff::Timestamp::now());
    bench.mooring = bench.scene.mooring_with(options()).await;
    bench.end_pod("grown-10-0").await;
    bench.attached_one("next-0").await;
    let counted = bench.since(&mark).await;
    let writes = counted.writes();
    expect(writes.len() == 3, || {
        format!("not only claim, record and gate: {writes:#?}")
    });
    // One inventory is enough, because it began after the process started.
    let pages = u64::try_from(bench.nodes.len().div_ceil(1000)).unwrap_or(u64::MAX);
    expect(counted.lists_of_interfaces <= pages, || {
        format!("{} lists of interfaces", counted.lists_of_interfaces)
    });
    let since = Since::DeletionOf("grown-10");
    let took = times(bench, &counted.audit, "next", ip, since).record[0];
    let deleted = counted.audit.iter().find(|event| {
        event.verb == "delete" && event.resource == "pods" && event.name == "grown-10-0"
    });
    let ready = deleted.map_or(0.0, |event| millis(started, event.answered));
    Figure::new(
        "restart-move",
        &format!(
            "a move right after a restart with {} IPs: describes of interfaces until then, time from the deletion of the old pod to the record (and from the start of Mooring)",
            bench.attached
        ),
    )
    .goal("1, 0.5 s")
    .is(format!(
        "{}, {:.2} s ({:.2} s)",
        counted.lists_of_interfaces,
        took / 1e3,
        (took + ready) / 1e3
    ));
}
