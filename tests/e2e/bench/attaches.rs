//! Measures attaches: one after the other, and many at the same time.

use std::time::Instant;

use super::cluster::{Bench, SIDE};
use super::counted::ReadBy;
use super::drain::Buckets;
use super::figures::{Figure, expect, number, percentiles};
use super::timeline::{Since, times};

const SINGLE: usize = 20;
const BURST: usize = 50;

/// Attaches one after the other, so that no two overlap.
pub async fn single(bench: &mut Bench<'_>) {
    let ips = bench.more_ips(SINGLE).await;
    bench.quiet().await;
    let mark = bench.mark().await;
    bench.one_by_one("single", ips.clone()).await;
    bench.quiet().await;
    let counted = bench.since(&mark).await;
    bench.attached += SINGLE;
    let (writes, reads) = (counted.writes(), counted.reads(ReadBy::Controller));
    let calls = (counted.assigns, counted.unassigns);
    expect(calls == (SINGLE as u64, 0), || {
        format!("{calls:?} calls of {SINGLE} attaches")
    });
    expect(writes.len() == 3 * SINGLE, || {
        format!("writes of {SINGLE} attaches: {writes:#?}")
    });
    let events = counted.events();
    expect(events == 2 * SINGLE, || {
        format!("{events} Events of {SINGLE} attaches")
    });
    expect(reads.is_empty(), || {
        format!("reads of the controller: {reads:?}")
    });
    let each = |count: usize| number(count) / number(SINGLE);
    let of_block = each(counted.of_block());
    let of_reviews = each(counted.reads(ReadBy::Review).len());
    Figure::new(
        "attach-requests",
        "attach: EC2 calls / writes and Events / reads of the controller",
    )
    .others("3 / 3 / 2", "7 / 8 / 8")
    .goal("1 / 5 / 0")
    .is(format!(
        "{} / {} and {} / {}",
        each(usize::try_from(counted.mutations()).unwrap_or(usize::MAX)),
        each(writes.len()),
        each(events),
        each(reads.len())
    ));
    Figure::new(
        "attach-review-reads",
        "attach: reads of the mutating review; requests for the status of the block, at most two a second",
    )
    .is(format!("{of_reviews:.1}; {of_block:.1}"));
    let times = times(bench, &counted.audit, "single", ips, Since::Binding);
    let (record, gate) = (percentiles(times.record).0, percentiles(times.gate).0);
    Figure::new(
        "attach-time",
        "attach: median from the binding to the record / to the gate",
    )
    .others("92 ms", "95 ms")
    .goal("38 / 46 ms")
    .is(format!("{record:.0} / {gate:.0} ms"));
}

/// Attaches for pods that are created at the same time.
pub async fn at_once(bench: &mut Bench<'_>, buckets: Buckets) {
    let ips = bench.more_ips(BURST).await;
    let prefix = format!("burst-{}", buckets.name());
    bench.quiet().await;
    buckets.set(bench).await;
    let mark = bench.mark().await;
    let begun = Instant::now();
    bench.pods(&prefix, ips.clone(), &(0..SIDE)).await;
    bench.attached(&prefix, BURST).await;
    let took = begun.elapsed().as_secs_f64();
    let counted = bench.since(&mark).await;
    bench.attached += BURST;
    let times = times(bench, &counted.audit, &prefix, ips, Since::Binding);
    let (median, most) = percentiles(times.record);
    let calls = counted.mutations();
    if buckets == Buckets::Empty {
        Figure::new(
            "burst-empty",
            "50 attaches at once, EC2's buckets empty: the same, time until the last pod is ready",
        )
        .goal("1.1 x calls / 5 s")
        .is(format!(
            "{median:.0} ms, {most:.0} ms, {}; {took:.1} s",
            buckets.cost(&counted)
        ));
        return;
    }
    Figure::new(
        "burst",
        "50 attaches at once: median and longest to the record, EC2 calls",
    )
    .others("21.1 s", "1.2 s")
    .goal("350 ms")
    .is(format!("{median:.0} ms, {most:.0} ms, {calls}"));
}
