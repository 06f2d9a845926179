//! Actions of users, machines and foreign clients, faults and crashes at once; then no more faults.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::Simulation;
use super::actions::{Actions, FULL, PUBLIC};
use super::settle::settle;
use crate::replicas::user;
use crate::world::{Kind, PRIMARY_IN_BLOCK, Range, World};

/// The interval of the turns of the world.
const TURN: Duration = Duration::from_millis(500);
/// The range of the block that every scenario has.
pub(super) const RANGE: Range = Range {
    third: 1,
    first: 32,
    prefix: 27,
};

/// Creates one block always, one in another subnet, and one of four addresses of which an interface has one.
fn make_blocks(world: &mut World) -> Vec<&'static str> {
    world.make_block(PUBLIC, RANGE);
    let mut blocks = vec![PUBLIC];
    if world.shape.subnets.contains(&2) {
        let range = Range {
            third: 2,
            first: 32,
            prefix: 28,
        };
        world.make_block("second", range);
        blocks.push("second");
    }
    if world.shape.prefix {
        world.delegate(Ipv4Addr::new(10, 0, 1, RANGE.first), true);
    }
    if world.shape.full {
        let range = Range {
            third: 1,
            first: PRIMARY_IN_BLOCK - 1,
            prefix: 30,
        };
        world.make_block(FULL, range);
    }
    blocks
}

/// Creates the objects of the start.
pub(super) fn set_up(simulation: &mut Simulation, actions: &mut Actions) {
    let world = &mut simulation.world;
    for name in ["node-a", "node-b", "node-c"] {
        world.join(name);
    }
    let blocks = make_blocks(world);
    let mut desired: Vec<&str> = Vec::new();
    let count = simulation.chance.between(2, 5);
    for number in 0..count {
        let block = if number == 0 {
            PUBLIC
        } else {
            simulation.chance.pick(&blocks).expect("some")
        };
        desired.push(block);
    }
    if world.shape.full {
        desired.extend([FULL; 5]);
    }
    for (number, block) in desired.into_iter().enumerate() {
        let name = format!("ip-{number}");
        let address = actions.desired(world, block);
        let reassign = simulation.chance.one_in(2);
        world.want(&name, block, address, reassign);
        let kinds = [
            Kind::Rolling,
            Kind::Rolling,
            Kind::Recreate,
            Kind::Stateful,
            Kind::Bare,
        ];
        let kind = if number == 0 {
            Kind::Rolling
        } else {
            *simulation.chance.pick(&kinds).expect("some")
        };
        let replicas = if kind == Kind::Rolling && simulation.chance.one_in(5) {
            2
        } else {
            1
        };
        world.deploy(&format!("app-{number}"), kind, &name, replicas);
    }
    if simulation.chance.one_in(4) {
        world.deploy("rival", Kind::Rolling, "ip-0", 1);
    }
}

/// Runs the scenario.
pub(super) async fn run(simulation: &mut Simulation, seed: u64) -> Result<(), String> {
    let mut actions = Actions::new(seed);
    set_up(simulation, &mut actions);
    simulation.replicas.start_all();
    let faults_end = simulation.chance.millis(10_000, 30_000);
    if simulation.chance.one_in(4) {
        simulation.faults.server_errors();
    }
    while simulation.log.now() < faults_end {
        simulation.pass(TURN).await;
    }
    let end = faults_end + simulation.chance.millis(330_000, 400_000);
    let mut next = [faults_end; 3];
    while simulation.log.now() < end {
        simulation.pass(TURN).await;
        actions.carry_out_due(&mut simulation.world);
        let now = simulation.log.now();
        let [action, fault, process] = &mut next;
        if now >= *action {
            *action = now + simulation.chance.millis(2000, 20_000);
            actions.act(&mut simulation.world);
        }
        if now >= *fault {
            *fault = now + simulation.chance.millis(8000, 40_000);
            simulation.faults.change(&mut simulation.chance);
        }
        if now >= *process {
            *process = now + simulation.chance.millis(10_000, 60_000);
            disturb(simulation).await;
        }
    }
    simulation.faults.end();
    actions.heal(&mut simulation.world);
    simulation.replicas.start_all();
    settle(simulation, &mut actions).await
}

/// Kills, stops, pauses or starts a random process.
async fn disturb(simulation: &mut Simulation) {
    let count = simulation.replicas.settings().processes as u64;
    let index = usize::try_from(simulation.chance.between(0, count)).unwrap_or_default();
    if !simulation.replicas.runs(index) {
        simulation.replicas.start(index);
        return;
    }
    match simulation.chance.between(0, 8) {
        0..=3 => {
            simulation.replicas.kill(index).await;
            if simulation.chance.one_in(2) {
                simulation.replicas.start(index);
            }
        }
        4 => {
            simulation.replicas.stop(index);
            simulation.replicas.start(index);
        }
        5 | 6 => {
            let until = simulation.log.now() + simulation.chance.millis(3000, 40_000);
            simulation.faults.pause(&user(index), until);
        }
        _ => {}
    }
}
