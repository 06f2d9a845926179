//! Attaches: one after the other, and many at once.

use super::cluster::{Bench, SIDE};
use super::counted::ReadBy;
use super::drain::Buckets;
use super::figures::{Figure, number, percentiles};
use super::timeline::{Since, times};

const SINGLE: usize = 20;
const BURST: usize = 50;

/// One after the other, so that no two of them meet.
pub async fn single(bench: &mut Bench<'_>) {
    let ips = bench.more_ips(SINGLE).await;
    bench.quiet().await;
    let mark = bench.mark().await;
    for number in ips.clone() {
        bench.pods("single", number..number + 1, &(0..SIDE)).await;
        bench.attached_one(&format!("single-{number}")).await;
    }
    bench.quiet().await;
    let counted = bench.since(&mark).await;
    bench.attached += SINGLE;
    let (writes, reads) = (counted.writes(), counted.reads(ReadBy::Controller));
    assert_eq!((counted.assigns, counted.unassigns), (SINGLE as u64, 0));
    assert_eq!(writes.len(), 3 * SINGLE, "{writes:#?}");
    assert_eq!(counted.events(), 2 * SINGLE, "Events");
    assert_eq!(reads, Vec::<&str>::new());
    let of_block = number(counted.of_block()) / number(SINGLE);
    let of_reviews = number(counted.reads(ReadBy::Review).len()) / number(SINGLE);
    Figure::new(
        "attach-requests",
        "attach: EC2 calls / writes and Events / reads of the controller",
    )
    .others("3 / 3 / 2", "7 / 8 / 8")
    .goal("1 / 5 / 0")
    .is("1 / 3 and 2 / 0".to_owned());
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

/// Pods that are created at once.
pub async fn at_once(bench: &mut Bench<'_>, buckets: Buckets) {
    let ips = bench.more_ips(BURST).await;
    let prefix = format!("burst-{}", buckets.name());
    bench.quiet().await;
    buckets.set(bench).await;
    let mark = bench.mark().await;
    bench.pods(&prefix, ips.clone(), &(0..SIDE)).await;
    bench.attached(&prefix, BURST).await;
    let counted = bench.since(&mark).await;
    bench.attached += BURST;
    let times = times(bench, &counted.audit, &prefix, ips, Since::Binding);
    let (median, most) = percentiles(times.record);
    let calls = counted.mutations();
    if buckets == Buckets::Empty {
        Figure::new(
            "burst-empty",
            "50 attaches at once, EC2's buckets empty: median and longest to the record, EC2 calls",
        )
        .goal("1.1 x calls / 5 s")
        .is(format!(
            "{median:.0} ms, {most:.0} ms, {}",
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
