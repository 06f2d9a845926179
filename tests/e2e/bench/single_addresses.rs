//! Measures moves that cannot share calls: before and after, each address has an interface of its own.

use std::time::Instant;

use super::cluster::{Bench, Wanted, nodes_in};
use super::counted::Counted;
use super::drain::{Buckets, MOVES};
use super::figures::{Figure, expect, number};

pub async fn moves(bench: &mut Bench<'_>) {
    let first = bench.nodes.len();
    let more = nodes_in(bench.scene, &bench.subnet.clone(), "one", 2 * MOVES).await;
    bench.nodes.extend(more);
    let (here, there) = (first..first + MOVES, first + MOVES..first + 2 * MOVES);
    // A restart takes an inventory. Otherwise Mooring finds the new interfaces only with the next periodic inventory.
    bench.restart().await;
    let wanted = Wanted {
        reassign: true,
        ..Wanted::default()
    };
    let ips = bench.more_ips_of(MOVES, wanted).await;
    // Without throttling, because the attaches need more calls than a bucket has tokens.
    bench.without_buckets().await;
    bench.pods("one", ips.clone(), &here).await;
    bench.attached("one", MOVES).await;
    bench.attached += MOVES;
    let mut holder = "one";
    for (next, on, buckets) in [
        ("other", &there, Buckets::Full),
        ("again", &here, Buckets::Empty),
    ] {
        bench.pods(next, ips.clone(), on).await;
        bench.bound(next, MOVES).await;
        // The calls before have used up the tokens in the buckets of this process. A new process starts with full ones.
        bench.restart().await;
        buckets.set(bench).await;
        let (mark, begun) = (bench.mark().await, Instant::now());
        for number in ips.clone() {
            bench.end_pod(&format!("{holder}-{number}")).await;
        }
        bench.attached(next, MOVES).await;
        let took = begun.elapsed().as_secs_f64();
        figure(buckets, took, &bench.since(&mark).await);
        holder = next;
    }
}

fn figure(buckets: Buckets, took: f64, counted: &Counted) {
    let executed = counted.mutations();
    expect(executed == MOVES as u64, || {
        format!("{executed} calls for 256 moves of one call each")
    });
    let (key, state, tokens, goal) = match buckets {
        Buckets::Full => ("", "", 100.0, "256, 34.3 s: 1.1 x (256 - 100) / 5 s"),
        Buckets::Empty => (
            "-empty",
            ", EC2's buckets empty",
            0.0,
            "256, 56.3 s: 1.1 x 256 / 5 s",
        ),
    };
    let ratio = took / ((number(MOVES) - tokens) / 5.0);
    expect(ratio <= 1.1, || {
        format!("256 moves of one call each{state} take {ratio:.2} x the time that EC2 needs")
    });
    Figure::new(
        &format!("single-addresses{key}"),
        &format!(
            "256 moves, each to an interface of its own, `reassign: true`{state}: EC2 calls, time"
        ),
    )
    .goal(goal)
    .is(format!("{}, {took:.1} s", buckets.cost(counted)));
}
