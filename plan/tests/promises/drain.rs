//! A block of 256 addresses: first all pods move at once, then the API server loses the data of all pods.

use std::time::Duration;

use mooring_plan::block::BlockRange;
use mooring_plan::facts::Kind;
use mooring_plan::names::{BlockName, IpName};

use crate::sim::{Sim, address_after};

const MOVES: u32 = 256;

/// More steps than an IP needs to come to rest without a failure.
const STEPS: usize = 30;

fn block_of_many() -> Sim {
    let mut sim = Sim::new();
    sim.range = "203.0.112.0/22";
    sim.ec2.limit_addresses(1000);
    sim.change_block("block", |block| {
        let range = BlockRange::parse("203.0.112.0/23", []).unwrap();
        block.spec.as_mut().unwrap().range = range;
    });
    sim.node("n1");
    sim.node("n2");
    for n in 0..MOVES {
        let address = address_after("203.0.112.10", n);
        sim.ip(&format!("ip{n}"), &address.to_string());
        sim.pod(&format!("old{n}")).on("n1").asks(&format!("ip{n}"));
    }
    sim
}

/// One IP after the other does all its steps, and the watches show the changes at the end. A decision for every IP
/// after each step would take quadratic time.
fn all_take_their_steps(sim: &mut Sim) {
    sim.deliver(0);
    sim.block_steps(0);
    sim.controllers[0].stuck.extend(Kind::ALL);
    for n in 0..MOVES {
        let name = IpName::new(format!("ip{n}"));
        for _ in 0..STEPS {
            let Some(step) = sim.controllers[0].facts().decide(&name, sim.now).step else {
                break;
            };
            sim.carry_out(0, &name, &step);
        }
    }
    sim.controllers[0].stuck.clear();
    sim.deliver(0);
}

/// Runs this number of seconds, with a check every ten seconds.
fn pass(sim: &mut Sim, seconds: u64) {
    for _ in 0..seconds / 10 {
        sim.now = sim.now.plus(Duration::from_secs(10));
        all_take_their_steps(sim);
    }
}

fn all_attached(sim: &Sim, pods: &str) {
    for n in 0..MOVES {
        sim.expect_attached(&format!("ip{n}"), &format!("{pods}{n}"));
    }
}

fn engaged(sim: &Sim) -> bool {
    let block = BlockName::from("block");
    sim.controllers[0].facts().brake_engaged(&block)
}

#[test]
fn a_drain_of_256_moves_engages_no_brake_but_a_restore_without_pods_does() {
    let mut sim = block_of_many();
    pass(&mut sim, 20);
    all_attached(&sim, "old");
    for n in 0..MOVES {
        sim.delete_pod(&format!("old{n}"));
        sim.pod(&format!("new{n}")).on("n2").asks(&format!("ip{n}"));
    }
    all_take_their_steps(&mut sim);
    sim.count_from_here();
    for n in 0..MOVES {
        sim.remove_pod(&format!("old{n}"));
        if n % 64 == 63 {
            sim.deliver(0);
            assert!(!engaged(&sim), "after {n}");
            all_take_their_steps(&mut sim);
            assert!(!engaged(&sim), "after {n}");
        }
    }
    pass(&mut sim, 20);
    assert!(!engaged(&sim));
    all_attached(&sim, "new");
    assert_eq!(
        sim.counts.calls(),
        2 * MOVES,
        "an Unassign and an Assign each"
    );

    let mut backup = sim.kube.clone();
    backup.pods.clear();
    sim.change_node("n1", |node| node.labels.clear());
    sim.relist(0);
    sim.count_from_here();
    sim.kube = backup;
    sim.relist(0);
    pass(&mut sim, 300);
    assert!(engaged(&sim));
    sim.expect_cost(0, 0, 0);
}
