//! Measures moves that cannot share calls: before and after, each address has an interface of its own.

use std::time::Instant;

use super::cluster::{Bench, Wanted, nodes_in};
use super::drain::MOVES;
use super::figures::{Figure, expect};

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
    bench.pods("other", ips.clone(), &there).await;
    bench.bound("other", MOVES).await;
    // The attaches have used up the tokens in the buckets of this process. A new process starts with full ones.
    bench.restart().await;
    bench.full_buckets().await;
    let (mark, begun) = (bench.mark().await, Instant::now());
    for number in ips {
        bench.end_pod(&format!("one-{number}")).await;
    }
    bench.attached("other", MOVES).await;
    let took = begun.elapsed().as_secs_f64();
    let counted = bench.since(&mark).await;
    let executed = counted.mutations();
    expect(executed == MOVES as u64, || {
        format!("{executed} calls for 256 moves of one call each")
    });
    // The first 100 calls have tokens.
    let ratio = took / ((256.0 - 100.0) / 5.0);
    expect(ratio <= 1.1, || {
        format!("256 moves of one call each take {ratio:.2} x the time that EC2 needs")
    });
    Figure::new(
        "single-addresses",
        "256 moves, each to an interface of its own, `reassign: true`: EC2 calls, time",
    )
    .goal("256, 34.3 s: 1.1 x (256 - 100) / 5 s")
    .is(format!("{executed}, {took:.1} s"));
}
