//! Users, machines, strangers, faults and crashes at once; then everything is well again, and comes to rest.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::Stage;
use super::deeds::{Deeds, FULL, PUBLIC};
use super::rest::rest;
use crate::replicas::user;
use crate::world::{KEPT, Kind, Range, World};

/// How often the world looks around.
const TURN: Duration = Duration::from_millis(500);
/// The block that there is in every scenario.
pub(super) const RANGE: Range = Range {
    third: 1,
    first: 32,
    prefix: 27,
};

/// One that is always there, one in another subnet, and one of four addresses of which a machine's interface has one.
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
            first: KEPT - 1,
            prefix: 30,
        };
        world.make_block(FULL, range);
    }
    blocks
}

/// What users have made at the start.
pub(super) fn set_up(stage: &mut Stage, deeds: &mut Deeds) {
    let world = &mut stage.world;
    for name in ["node-a", "node-b", "node-c"] {
        world.join(name);
    }
    let blocks = make_blocks(world);
    let mut wished: Vec<&str> = Vec::new();
    let count = stage.chance.between(2, 5);
    for number in 0..count {
        let block = if number == 0 {
            PUBLIC
        } else {
            stage.chance.pick(&blocks).expect("some")
        };
        wished.push(block);
    }
    if world.shape.full {
        wished.extend([FULL; 5]);
    }
    for (number, block) in wished.into_iter().enumerate() {
        let name = format!("ip-{number}");
        let address = deeds.wished(world, block);
        let reassign = stage.chance.one_in(2);
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
            *stage.chance.pick(&kinds).expect("some")
        };
        let replicas = if kind == Kind::Rolling && stage.chance.one_in(5) {
            2
        } else {
            1
        };
        world.deploy(&format!("app-{number}"), kind, &name, replicas);
    }
    if stage.chance.one_in(4) {
        world.deploy("rival", Kind::Rolling, "ip-0", 1);
    }
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    let mut deeds = Deeds::new(seed);
    set_up(stage, &mut deeds);
    stage.replicas.start_all();
    let calm = stage.chance.millis(10_000, 30_000);
    if stage.chance.one_in(4) {
        stage.troubles.server_errors();
    }
    while stage.log.now() < calm {
        stage.pass(TURN).await;
    }
    let end = calm + stage.chance.millis(330_000, 400_000);
    let mut next = [calm; 3];
    while stage.log.now() < end {
        stage.pass(TURN).await;
        deeds.follow(&mut stage.world);
        let now = stage.log.now();
        let [deed, trouble, process] = &mut next;
        if now >= *deed {
            *deed = now + stage.chance.millis(2000, 20_000);
            deeds.act(&mut stage.world);
        }
        if now >= *trouble {
            *trouble = now + stage.chance.millis(8000, 40_000);
            stage.troubles.change(&mut stage.chance);
        }
        if now >= *process {
            *process = now + stage.chance.millis(10_000, 60_000);
            disturb(stage).await;
        }
    }
    stage.troubles.end();
    deeds.heal(&mut stage.world);
    stage.replicas.start_all();
    rest(stage, &mut deeds).await
}

/// Something happens to a process.
async fn disturb(stage: &mut Stage) {
    let count = stage.replicas.manner().processes as u64;
    let index = usize::try_from(stage.chance.between(0, count)).unwrap_or_default();
    if !stage.replicas.runs(index) {
        stage.replicas.start(index);
        return;
    }
    match stage.chance.between(0, 8) {
        0..=3 => {
            stage.replicas.kill(index).await;
            if stage.chance.one_in(2) {
                stage.replicas.start(index);
            }
        }
        4 => {
            stage.replicas.stop(index);
            stage.replicas.start(index);
        }
        5 | 6 => {
            let until = stage.log.now() + stage.chance.millis(3000, 40_000);
            stage.troubles.pause(&user(index), until);
        }
        _ => {}
    }
}
