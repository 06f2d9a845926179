//! Users, machines, strangers, faults and crashes at once; then everything is well again, and comes to rest.

use std::time::Duration;

use super::Stage;
use super::deeds::Deeds;
use super::rest::rest;
use crate::replicas::user;
use crate::world::Kind;

/// How often the world looks around.
const TURN: Duration = Duration::from_millis(500);
/// The addresses that users may ask for.
pub(super) const RANGE: (u8, u8) = (32, 64);

/// What users have made at the start.
pub(super) fn set_up(stage: &mut Stage) {
    let world = &mut stage.world;
    for name in ["node-a", "node-b", "node-c"] {
        world.join(name);
    }
    world.make_block("public", RANGE.0, 27);
    let count = stage.chance.between(2, 5);
    for number in 0..count {
        let name = format!("ip-{number}");
        let address = stage.chance.one_in(2).then(|| {
            let (first, last) = RANGE;
            u8::try_from(stage.chance.between(first.into(), last.into())).unwrap_or(first)
        });
        let reassign = stage.chance.one_in(2);
        world.want(&name, "public", address, reassign);
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
    set_up(stage);
    stage.replicas.start_all();
    let mut deeds = Deeds::new(seed, RANGE);
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
