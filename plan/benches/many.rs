//! How long deciding takes with many IPs. Each of these is to grow with their number, and no faster.
//!
//! `cargo bench --package mooring-plan --bench many`
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "../tests/promises/many_ips.rs"]
mod many_ips;

use std::time::{Duration, Instant};

use many_ips::ManyIps;
use mooring_plan::facts::{Affected, Fact};
use mooring_world::attached::ip_name;

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed(), done)
}

fn main() {
    for ips in [2_000, 4_000, 20_000] {
        let (build, mut many_ips) = timed(|| ManyIps::at_rest(ips, ips / 40));
        let (all, _) = timed(|| many_ips.look_at_all());
        let (inventory, affected) = timed(|| many_ips.look());
        let count = match affected {
            Affected::All => many_ips.facts.ip_names().count(),
            Affected::Several(several) => several.len(),
            Affected::One(_) => 1,
            Affected::Nothing => 0,
        };
        let (block, _) = timed(|| many_ips.facts.block_steps(&"block".into(), many_ips.now));
        let one = many_ips.facts.ip(&ip_name(7)).unwrap().clone();
        let (reads, ()) = timed(|| {
            for number in 0..1000 {
                let ip = many_ips.facts.ip(&ip_name(number)).unwrap().clone();
                let claim = ip.status.claim.clone().unwrap();
                many_ips.deliver(Fact::PodRead(claim.pod, None));
            }
        });
        println!(
            "{ips} IPs, {}: built in {build:?}, one look at all {all:?}, an inventory {inventory:?} affecting {count}, \
             a look at the block {block:?}, 1000 reads {reads:?}",
            one.name
        );
    }
}
