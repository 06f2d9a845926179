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

#[path = "../tests/promises/many_ips.rs"]
mod many_ips;

use std::collections::BTreeMap;
use std::time::Duration;

use many_ips::{ManyIps, POD};
use mooring_plan::cloud::Interface;
use mooring_plan::engine::{Completion, Effect, Engine, Event, Pacing, Work};
use mooring_plan::facts::{Fact, Kind, Settings, WriteOutcome, Written};
use mooring_plan::lease::Leadership;
use mooring_plan::names::{InterfaceId, IpName, PodUid};
use mooring_plan::objects::Pod;
use mooring_plan::step::{CallGroup, Read};
use mooring_plan::time::Instant;
use mooring_world::attached::{address, attached, ip_name, node_name, pod, pod_key};
use mooring_world::engine::answer;
use mooring_world::kube::Kube;

/// The time from a request to its answer.
const READ: Duration = Duration::from_millis(2);
const WRITE: Duration = Duration::from_millis(7);
const EC2: Duration = Duration::from_millis(20);

/// What happens in a second.
struct Rate {
    pods: u32,
    nodes: u32,
    moves: u32,
}

struct World {
    engine: Engine,
    kube: Kube,
    interfaces: BTreeMap<InterfaceId, Interface>,
    now: Instant,
    in_flight: BTreeMap<(Instant, u64), Event>,
    begun: u64,
    ips: u32,
    nodes: u32,
    /// What was counted and measured since the last [`World::reset`].
    spent: Duration,
    events: u64,
    calls: u64,
    writes: u64,
}

impl World {
    /// IPs at rest, as a process that begins to lead comes to know them.
    fn at_rest(ips: u32, nodes: u32) -> Self {
        let many_ips = ManyIps::at_rest(ips, nodes);
        let settings = Settings {
            inventory_interval: Duration::from_mins(1),
        };
        let mut world = Self {
            engine: Engine::new(settings, Pacing::On),
            kube: Kube::with_one_counter(),
            interfaces: many_ips.interfaces,
            now: many_ips.now,
            in_flight: BTreeMap::new(),
            begun: 0,
            ips,
            nodes,
            spent: Duration::ZERO,
            events: 0,
            calls: 0,
            writes: 0,
        };
        let mut facts = vec![Fact::Block(many_ips::block())];
        facts.extend(many_ips.nodes.into_values().map(Fact::Node));
        for number in 0..ips {
            let attached = attached(POD, number, &node_name(number % nodes));
            // With the conditions that were written for it.
            let ip = many_ips.facts.ip(&attached.ip.name).unwrap().clone();
            facts.push(Fact::Ip(ip));
            facts.push(Fact::Reservation(attached.reservation));
            facts.push(Fact::Pod(attached.pod));
        }
        for fact in facts {
            world.kube.show(&fact);
            world.event(Event::Fact(fact));
        }
        for kind in Kind::ALL {
            world.event(Event::Fact(Fact::Synced(kind)));
        }
        for _ in 0..100_000 {
            world.kube.bump();
        }
        world.event(Event::Leadership(Leadership::ALWAYS));
        world.run(Duration::from_mins(5));
        world
    }

    fn measured<T>(&mut self, work: impl FnOnce(&mut Engine, Instant) -> T) -> T {
        let begun = std::time::Instant::now();
        let done = work(&mut self.engine, self.now);
        self.spent += begun.elapsed();
        done
    }

    fn event(&mut self, event: Event) {
        self.events += 1;
        self.measured(|engine, now| engine.handle(event, now));
    }

    fn reset(&mut self) {
        (self.spent, self.events, self.calls, self.writes) = (Duration::ZERO, 0, 0, 0);
    }

    /// Everything that follows within this time.
    fn run(&mut self, length: Duration) {
        let until = self.now.plus(length);
        loop {
            while let Some(effect) = self.measured(Engine::poll) {
                self.begin(effect);
            }
            let wake = self.measured(|engine, now| engine.wake_at(now));
            let ends = self.in_flight.keys().next().map(|(at, _)| *at);
            let next = ends.map_or(wake, |ends| ends.min(wake));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            while let Some(entry) = self.in_flight.first_entry()
                && entry.key().0 <= self.now
            {
                let event = entry.remove();
                self.end(event);
            }
        }
    }

    fn begin(&mut self, effect: Effect) {
        let (takes, event) = match effect {
            Effect::Read(ip, read) => (READ, self.read(ip, &read)),
            Effect::Write { ip, write, .. } => {
                self.writes += 1;
                let outcome = self.kube.write(&write);
                let fact = Fact::Wrote {
                    ip: ip.clone(),
                    write,
                    outcome,
                };
                (WRITE, completed(Work::Ip(ip), fact))
            }
            Effect::Calls(group, ips) => {
                self.calls += 1;
                let interface = self.interfaces.get_mut(group.interface()).unwrap();
                for (_, address) in &ips {
                    match group {
                        CallGroup::Assign { .. } => interface.addresses.insert(*address),
                        CallGroup::Unassign(_) => interface.addresses.remove(address),
                    };
                }
                (EC2, Event::Called(group, ips, Ok(())))
            }
            Effect::BlockSteps(block, steps) => {
                let mut facts = Vec::new();
                for step in steps {
                    facts.extend(self.kube.block_step(&block, &step));
                    facts.extend(answer(step, "10.0.0.0/8", 50));
                }
                (EC2, Event::Completed(Work::Block(block), facts.into()))
            }
            Effect::Inventory(subnet) => {
                let list = self.interfaces.values().cloned().collect();
                let fact = Fact::InventoryDone(subnet.clone(), list);
                (EC2, completed(Work::Inventory(subnet), fact))
            }
            Effect::ListIps => {
                let ips = self.kube.ips.values().cloned().collect();
                (READ, completed(Work::Ips, Fact::IpsRead(ips)))
            }
            Effect::NodeStep(..) => panic!("no node fails here"),
            Effect::Post(_) | Effect::Report(_) | Effect::Resign => return,
        };
        self.begun += 1;
        self.in_flight
            .insert((self.now.plus(takes), self.begun), event);
    }

    fn read(&self, ip: IpName, read: &Read) -> Event {
        let fact = self.kube.read(&ip, read);
        completed(Work::Ip(ip), fact)
    }

    /// The answer, and what the watch then shows.
    fn end(&mut self, event: Event) {
        let written = match &event {
            Event::Completed(_, Completion { facts, .. }) => match facts.first() {
                Some(Fact::Wrote {
                    outcome: WriteOutcome::Done(Some(written)),
                    ..
                }) => Some(written.clone()),
                _ => None,
            },
            _ => None,
        };
        self.event(event);
        match written {
            Some(Written::Ip(ip)) => self.event(Event::Fact(Fact::Ip(ip))),
            Some(Written::Pod(pod)) => self.event(Event::Fact(Fact::Pod(pod))),
            Some(Written::Reservation(held)) => self.event(Event::Fact(Fact::Reservation(held))),
            None => {}
        }
    }

    /// The status of a pod changes.
    fn pod_changes(&mut self, number: u32) {
        let key = pod_key(POD, number % self.ips);
        self.kube.change_pod(&key, |pod| {
            pod.containers_ready = !pod.containers_ready;
        });
        let pod = self.kube.pods.get(&key).unwrap().clone();
        self.event(Event::Fact(Fact::Pod(pod)));
    }

    /// The heartbeat of a Node.
    fn node_changes(&mut self, number: u32) {
        let version = self.kube.bump();
        let name = node_name(number % self.nodes);
        let node = self.kube.nodes.get_mut(&name).unwrap();
        node.version = version;
        let node = node.clone();
        self.event(Event::Fact(Fact::Node(node)));
    }

    /// A pod is replaced by one of the same name on the next node.
    fn pod_moves(&mut self, number: u32, round: u32) {
        let key = pod_key(POD, number % self.ips);
        let old = self.kube.pods.get(&key).unwrap().clone();
        self.event(Event::Fact(Fact::PodDeleted(old.uid)));
        let next = node_name((number + 1) % self.nodes);
        let pod = Pod {
            uid: PodUid::new(format!("again-{round}-{number}")),
            version: self.kube.bump(),
            ..pod(POD, number % self.ips, &next)
        };
        self.kube.pods.insert(key, pod.clone());
        self.event(Event::Fact(Fact::Pod(pod)));
    }

    /// These events, spread over each second.
    fn run_at_rate(&mut self, seconds: u32, rate: &Rate) {
        let mut done = [0_u32; 3];
        for slice in 1..=seconds * 100 {
            for (kind, each) in [rate.pods, rate.nodes, rate.moves].into_iter().enumerate() {
                while done[kind] < each * slice / 100 {
                    let number = done[kind];
                    match kind {
                        0 => self.pod_changes(number * 7),
                        1 => self.node_changes(number),
                        _ => self.pod_moves(number * 41, slice),
                    }
                    done[kind] += 1;
                }
            }
            self.run(Duration::from_millis(10));
        }
    }

    fn attached_where_they_are(&self) -> usize {
        let holds = |number: &u32| {
            let ip = self.kube.ips.get(&ip_name(*number)).unwrap();
            let claim = ip.status.claim.as_ref().filter(|claim| claim.recorded());
            claim
                .and_then(|claim| claim.target())
                .is_some_and(|target| {
                    let interface = self.interfaces.get(&target.place.interface).unwrap();
                    let pod = self.kube.pods.get(&pod_key(POD, *number)).unwrap();
                    interface.addresses.contains(&address(*number))
                        && pod.node.as_ref() == Some(&target.node)
                })
        };
        (0..self.ips).filter(holds).count()
    }
}

fn completed(work: Work, fact: Fact) -> Event {
    Event::Completed(work, fact.into())
}

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
