//! Measures moves: one after the other, and 100 per second.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use super::cluster::{Bench, SIDE, Wanted};
use super::counted::{ReadBy, kinds};
use super::drain::{Buckets, MOVES, MovingIps, Phase, most_calls};
use super::figures::{Figure, expect, number, percentiles};
use super::timeline::{Since, times};

const SINGLE: usize = 20;
/// 100 moves per second.
const INTERVAL: Duration = Duration::from_millis(10);

/// Moves one after the other: the new pod waits on another node, then the old pod is deleted.
pub async fn single(bench: &mut Bench<'_>) {
    for (reassign, calls) in [(false, 2), (true, 1)] {
        let wanted = Wanted {
            reassign,
            ..Wanted::default()
        };
        let ips = bench.more_ips_of(SINGLE, wanted).await;
        let (old, new) = (format!("from-{reassign}"), format!("to-{reassign}"));
        bench.full_buckets().await;
        bench.pods(&old, ips.clone(), &(0..SIDE)).await;
        bench.attached(&old, SINGLE).await;
        bench.attached += SINGLE;
        bench.pods(&new, ips.clone(), &(SIDE..2 * SIDE)).await;
        bench.reported(&new, SINGLE).await;
        bench.quiet().await;
        let mark = bench.mark().await;
        for number in ips.clone() {
            bench.end_pod(&format!("{old}-{number}")).await;
            bench.attached_one(&format!("{new}-{number}")).await;
        }
        bench.quiet().await;
        let counted = bench.since(&mark).await;
        let each = |count: usize| number(count) / number(SINGLE);
        let (assigns, all) = (counted.assigns, counted.mutations());
        expect(
            assigns == SINGLE as u64 && all == calls * SINGLE as u64,
            || format!("{assigns} of {all} calls of {SINGLE} moves are Assigns"),
        );
        let writes = counted.writes_of(&bench.ips[ips.clone()]);
        let reads = counted.reads(ReadBy::Controller);
        println!("bench: {}", kinds(&writes));
        let (changes, events) = (writes.len(), counted.events());
        // An old pod that ends at once is not seen while it is deleted, so that no Event says so.
        expect(
            changes == 3 * SINGLE
                && (2 * SINGLE..=3 * SINGLE).contains(&events)
                && reads.len() <= SINGLE,
            || {
                let read = reads.len();
                format!("{changes} writes, {events} Events, {read} reads of {SINGLE} moves")
            },
        );
        let others = if reassign {
            ("", "")
        } else {
            ("6 calls, 169 ms", "10 calls, 162 ms")
        };
        Figure::new(
            &format!("move-{reassign}-requests"),
            &format!("move, `reassign: {reassign}`: EC2 calls / writes and Events / reads of the controller"),
        )
        .is(format!(
            "{calls} / {:.1} and {:.1} / {:.1}",
            each(writes.len()),
            each(counted.events()),
            each(reads.len())
        ));
        let since = Since::DeletionOf(&old);
        let times = times(bench, &counted.audit, &new, ips, since);
        let (record, gate) = (percentiles(times.record).0, percentiles(times.gate).0);
        let goal = if reassign { "40 / 48 ms" } else { "62 / 70 ms" };
        Figure::new(
            &format!("move-{reassign}-time"),
            &format!("move, `reassign: {reassign}`: median from the deletion of the old pod to the record / to the gate"),
        )
        .others(others.0, others.1)
        .goal(goal)
        .is(format!("{record:.0} / {gate:.0} ms"));
    }
}

/// The new pods wait on other nodes, and every 10 ms an old pod is deleted.
pub async fn in_sequence(bench: &mut Bench<'_>, moving: &mut MovingIps, buckets: Buckets) {
    let next = moving.next();
    bench.pods(&next, moving.ips.clone(), &moving.there).await;
    bench.reported(&next, MOVES).await;
    bench.quiet().await;
    buckets.set(bench).await;
    let memory = bench.memory();
    let mark = bench.mark().await;
    let begun = Instant::now();
    let all = (0_u32..).zip(moving.ips.clone()).map(|(position, ip)| {
        let old = format!("{}-{ip}", moving.holder);
        let bench = &*bench;
        async move {
            tokio::time::sleep_until(begun + INTERVAL * position).await;
            bench.end_pod(&old).await;
        }
    });
    join_all(all).await;
    let arrived = begun.elapsed().as_secs_f64();
    bench.attached(&next, MOVES).await;
    let took = begun.elapsed();
    let counted = bench.since(&mark).await;
    let since = Since::DeletionOf(&moving.holder);
    let times = times(bench, &counted.audit, &next, moving.ips.clone(), since);
    moving.moved();
    let (median, longest) = percentiles(times.record);
    let executed = counted.mutations();
    let value = format!(
        "{}; {:.1} s, of which they came in {arrived:.1} s; {median:.0} and {longest:.0} ms",
        buckets.cost(&counted),
        took.as_secs_f64()
    );
    let phase = Phase {
        key: "sequence",
        name: "256 moves, 100 a second",
        what: "EC2 calls; time until the last pod is ready; median and longest from the deletion of the old pod to the record",
        goal: "64 calls",
    };
    buckets.report(&phase, &counted, &value);
    if buckets == Buckets::Full {
        bench.quiet().await;
        bench.memory_around("moves", phase.name, memory);
    }
    let most = most_calls(4, took);
    expect(u128::from(executed) <= most, || {
        format!("{executed} calls for 256 moves in {took:.1?}: more than {most}")
    });
}
