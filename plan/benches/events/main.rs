//! What 1,000 events a second cost the engine with 20,000 attached IPs: the share of a core that deciding takes.
//!
//! `cargo bench --package mooring-plan --bench events`
//!
//! Time in this world is virtual; only what runs in the engine is measured.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod changes;
mod effects;
#[path = "../../tests/promises/many_ips.rs"]
mod many_ips;
mod world;

use std::time::Duration;

use changes::Rate;
use world::World;

fn main() {
    let seconds = 60;
    let rates = [
        (
            "at rest",
            Rate {
                pods: 0,
                nodes: 0,
                moves: 0,
            },
        ),
        (
            "950 of pods, 50 of nodes",
            Rate {
                pods: 950,
                nodes: 50,
                moves: 0,
            },
        ),
        (
            "940 of pods, 50 of nodes, 5 moves",
            Rate {
                pods: 940,
                nodes: 50,
                moves: 5,
            },
        ),
    ];
    for ips in [2_000, 20_000] {
        let mut world = World::at_rest(ips, ips / 40);
        let took = world.spent;
        println!("{ips} IPs: beginning to lead takes {took:?}");
        for (what, rate) in &rates {
            world.reset();
            world.run_at_rate(seconds, rate);
            let (spent, events) = (world.spent, world.events);
            let share = spent.as_secs_f64() / f64::from(seconds) * 100.0;
            println!(
                "{ips} IPs, {what} in a second: {share:.1} % of a core; {events} events, {} calls, {} writes in {seconds} s",
                world.calls, world.writes
            );
            world.run(Duration::from_secs(20));
            let attached = world.attached_where_they_are();
            assert_eq!(
                attached, ips as usize,
                "every IP is attached where its pod is"
            );
        }
    }
}
