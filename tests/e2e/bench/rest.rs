//! Measures the cost at rest, while nothing changes.

use std::time::Duration;

use super::Extent;
use super::cluster::Bench;
use super::counted::ReadBy;
use super::figures::{Figure, expect};

pub async fn at_rest(bench: &Bench<'_>, extent: Extent) {
    bench.quiet_leader().await;
    bench.all_quiet().await;
    let length = match extent {
        Extent::Quick => Duration::from_secs(10),
        Extent::Full => Duration::from_mins(1),
    };
    let (mark, cpu) = (bench.mark().await, bench.cpu());
    tokio::time::sleep(length).await;
    let counted = bench.since(&mark).await;
    let share = (bench.cpu() - cpu) / length.as_secs_f64() * 100.0;
    let writes = counted.all_writes();
    expect(writes == 0, || format!("at rest: {:#?}", counted.writes()));
    let reads = counted.reads(ReadBy::Controller).len();
    expect(reads == 0, || {
        format!("at rest: {:#?}", counted.reads(ReadBy::Controller))
    });
    let (all, attached, describes) = (bench.ips.len(), bench.attached, counted.describes);
    Figure::new(
        &format!("rest-{attached}"),
        &format!(
            "at rest for {} s with {all} IPs, {attached} attached: writes / reads / describes, CPU of a core",
            length.as_secs()
        ),
    )
    .others("0", "60 calls a minute")
    .goal("0 / 0 / inventories, 0.3 %")
    .is(format!("{writes} / {reads} / {describes}, {share:.2} %"));
}
