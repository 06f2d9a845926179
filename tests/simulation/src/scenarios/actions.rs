//! Random actions of users, machines and foreign clients in the scenarios.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::chance::Chance;
use crate::world::{DesiredIp, Health, Kind, World};

/// The block that is always there.
pub(super) const PUBLIC: &str = "public";
/// The block with fewer addresses than the IPs that ask for them.
pub(super) const FULL: &str = "full";

/// A later effect of an action.
#[derive(Clone, Debug)]
enum Later {
    /// A machine joins, possibly with the name of a machine that is gone.
    Join(String),
    /// A machine is healthy again.
    Wake(String),
    /// A machine is schedulable again.
    Open(String),
    /// Foreign clients remove their addresses.
    StrangersLeave,
    /// Users delete all IPs of this block.
    Empty(String),
    /// This block is deleted.
    Delete(String),
}

/// The random actions, and their later effects.
pub struct Actions {
    chance: Chance,
    later: Vec<(Duration, Later)>,
}

impl Actions {
    /// The actions of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            chance: Chance::new(seed, "deeds"),
            later: Vec::new(),
        }
    }

    /// Carries out the later effects that are due.
    pub fn carry_out_due(&mut self, world: &mut World) {
        let now = world.log.now();
        self.renew(world);
        let due = self.later.extract_if(.., |(at, _)| *at <= now);
        for (_, later) in due.collect::<Vec<_>>() {
            match later {
                Later::Join(name) if world.machines.contains_key(&name) => {
                    self.later
                        .push((now + Duration::from_secs(5), Later::Join(name)));
                }
                Later::Join(name) => world.join(&name),
                Later::Wake(name) => world.set_health(&name, |_| Health::Well),
                Later::Open(name) => world.cordon(&name, false),
                Later::StrangersLeave => world.foreign_clients_leave(),
                Later::Empty(block) => world.empty_block(&block),
                Later::Delete(block) => {
                    world.delete_block(&block);
                    self.then(world, 10, 60, Later::Empty(block));
                }
            }
        }
    }

    /// Creates deleted IPs again, and restarts their pods, which still refer to the old IP.
    fn renew(&mut self, world: &mut World) {
        world.renew_blocks();
        for (name, block) in world.gone() {
            let address = self.desired(world, &block);
            let reassign = self.chance.one_in(2);
            world.want(&name, &block, address, reassign);
            world.restart_pods_of(&name);
        }
    }

    fn then(&mut self, world: &World, from: u64, to: u64, later: Later) {
        let at = world.log.now() + self.chance.millis(from * 1000, to * 1000);
        self.later.push((at, later));
    }

    /// Carries out a random action.
    pub fn act(&mut self, world: &mut World) {
        match self.chance.between(0, 29) {
            0..=3 => self.roll_out(world),
            4 => self.on_workload(world, World::undo),
            5 | 6 => self.on_pod(world, |world, uid, _| world.delete_pod(uid, false)),
            7 => self.on_pod(world, |world, uid, _| world.delete_pod(uid, true)),
            8 => self.on_pod(world, |world, uid, chance| {
                let phase = if chance.one_in(2) {
                    "Succeeded"
                } else {
                    "Failed"
                };
                world.complete_pod(uid, phase);
            }),
            9 => self.on_pod(world, |world, uid, _| world.release(uid)),
            10..=14 => self.on_machine(world),
            15 | 16 => self.drain(world),
            17 => {
                let address = self.address(world, PUBLIC);
                if self.chance.one_in(3) {
                    let [a, b, c, last] = address.octets();
                    world.delegate(Ipv4Addr::new(a, b, c, last & 0xf0), false);
                } else {
                    world.occupy(address);
                }
                self.then(world, 20, 90, Later::StrangersLeave);
            }
            18 | 19 => {
                let names: Vec<(String, DesiredIp)> =
                    world.desired_ips.clone().into_iter().collect();
                if let Some((name, desired)) = self.chance.pick(&names).cloned() {
                    let address = self.address(world, &desired.block);
                    world.edit(&name, address);
                }
            }
            20 => {
                let reassign = self.chance.one_in(2);
                self.on_ip(world, |world, name| world.set_reassign(name, reassign));
            }
            21 => self.on_ip(world, World::unwant),
            22 => self.on_ip(world, |world, name| {
                if let Some(address) = world.address_of(name) {
                    world.delete_reservation(&address);
                }
            }),
            23 => {
                let holders = world.holders();
                if let Some((uid, _)) = self.chance.pick(&holders) {
                    world.unlabel(uid);
                }
            }
            24 | 25 => self.scale(world),
            26 => self.end_block(world),
            _ => self.on_pod(world, |world, uid, chance| {
                let until = world.log.now() + chance.millis(5000, 90_000);
                world.lose_phase(uid, until);
            }),
        }
    }

    /// A random address of a block.
    fn address(&mut self, world: &World, block: &str) -> Ipv4Addr {
        let addresses: Vec<Ipv4Addr> = world.blocks[block].addresses().collect();
        *self.chance.pick(&addresses).expect("a block has some")
    }

    /// A random address of a block, or none.
    pub(super) fn desired(&mut self, world: &World, block: &str) -> Option<Ipv4Addr> {
        // In the block with too few addresses, no IP asks for a specific address.
        (block != FULL && self.chance.one_in(2)).then(|| self.address(world, block))
    }

    /// Deletes a block before its IPs, or its IPs before the block.
    fn end_block(&mut self, world: &mut World) {
        let blocks = world.blocks.keys();
        let others = blocks.filter(|block| *block != PUBLIC && !world.leaving.contains(*block));
        let others: Vec<String> = others.cloned().collect();
        let Some(block) = self.chance.pick(&others).cloned() else {
            return;
        };
        if self.chance.one_in(2) {
            world.delete_block(&block);
            self.then(world, 10, 60, Later::Empty(block));
        } else {
            world.empty_block(&block);
            self.then(world, 0, 5, Later::Delete(block));
        }
    }

    fn roll_out(&mut self, world: &mut World) {
        let broken = self.chance.one_in(5);
        self.on_workload(world, |world, index| world.roll_out(index, broken));
    }

    fn on_workload(&mut self, world: &mut World, act: impl FnOnce(&mut World, usize)) {
        let count = world.workloads.len() as u64;
        let index = usize::try_from(self.chance.between(0, count)).unwrap_or_default();
        act(world, index);
    }

    fn scale(&mut self, world: &mut World) {
        let two = self.chance.one_in(3);
        self.on_workload(world, |world, index| {
            let workload = &mut world.workloads[index];
            if matches!(workload.kind, Kind::Rolling | Kind::Recreate) {
                workload.replicas = if two { 2 } else { 1 };
            }
        });
    }

    fn on_pod(&mut self, world: &mut World, act: impl FnOnce(&mut World, &str, &mut Chance)) {
        let uids: Vec<String> = world.pods.keys().cloned().collect();
        if let Some(uid) = self.chance.pick(&uids) {
            let uid = uid.clone();
            act(world, &uid, &mut self.chance);
        }
    }

    fn on_ip(&mut self, world: &mut World, act: impl FnOnce(&mut World, &str)) {
        let names: Vec<String> = world.desired_ips.keys().cloned().collect();
        if let Some(name) = self.chance.pick(&names) {
            act(world, name);
        }
    }

    fn well(&mut self, world: &World) -> Option<String> {
        let well = world
            .machines
            .iter()
            .filter(|(_, machine)| machine.health == Health::Well);
        let names: Vec<String> = well.map(|(name, _)| name.clone()).collect();
        // One machine stays healthy.
        if names.len() < 2 {
            None
        } else {
            self.chance.pick(&names).cloned()
        }
    }

    fn on_machine(&mut self, world: &mut World) {
        let Some(name) = self.well(world) else { return };
        match self.chance.between(0, 7) {
            0 => {
                world.set_health(&name, Health::Gone);
                self.then(world, 25, 60, Later::Join(name));
            }
            1 => {
                world.set_health(&name, Health::Stopped);
                self.then(world, 20, 150, Later::Wake(name));
            }
            2 => {
                world.set_health(&name, Health::Silent);
                self.then(world, 20, 150, Later::Wake(name));
            }
            3 => {
                let until = world.log.now() + self.chance.millis(2000, 25_000);
                world.blink(&name, until);
            }
            4 => {
                world.fill(&name);
                self.then(world, 20, 90, Later::StrangersLeave);
            }
            _ => world.replug(&name),
        }
    }

    fn drain(&mut self, world: &mut World) {
        let Some(name) = self.well(world) else { return };
        world.cordon(&name, true);
        let there: Vec<String> = world
            .pods
            .iter()
            .filter(|(_, pod)| pod.node.as_ref() == Some(&name))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in there {
            world.delete_pod(&uid, false);
        }
        world.log.note(format!("world    node {name} is drained"));
        self.then(world, 10, 60, Later::Open(name));
    }

    /// Ends all disturbances, so that the goal can be reached.
    pub fn heal(&mut self, world: &mut World) {
        self.later.retain(|(_, later)| {
            matches!(later, Later::Join(_) | Later::Empty(_) | Later::Delete(_))
        });
        world.foreign_clients_leave();
        let names: Vec<String> = world.machines.keys().cloned().collect();
        for name in names {
            world.set_health(&name, |_| Health::Well);
            world.cordon(&name, false);
        }
        for index in 0..world.workloads.len() {
            world.roll_out_working(index);
            let workload = &mut world.workloads[index];
            workload.replicas = workload.replicas.max(1);
        }
    }
}
