//! The world: an engine that leads, with IPs at rest, and what it costs to decide.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_plan::cloud::Interface;
use mooring_plan::engine::{Engine, Event, Pacing};
use mooring_plan::facts::{Fact, Kind, Settings};
use mooring_plan::lease::Leadership;
use mooring_plan::names::InterfaceId;
use mooring_plan::time::Instant;
use mooring_world::attached::{address, attached, ip_name, node_name, pod_key};
use mooring_world::kube::Kube;

use crate::many_ips::{self, ManyIps, POD};

pub struct World {
    engine: Engine,
    pub kube: Kube,
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    pub now: Instant,
    pub in_flight: BTreeMap<(Instant, u64), Event>,
    pub begun: u64,
    pub ips: u32,
    pub nodes: u32,
    /// What was counted and measured since the last [`World::reset`].
    pub spent: Duration,
    pub events: u64,
    pub calls: u64,
    pub writes: u64,
}

impl World {
    /// IPs at rest, as a process that begins to lead comes to know them.
    pub fn at_rest(ips: u32, nodes: u32) -> Self {
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

    pub fn event(&mut self, event: Event) {
        self.events += 1;
        self.measured(|engine, now| engine.handle(event, now));
    }

    pub fn reset(&mut self) {
        (self.spent, self.events, self.calls, self.writes) = (Duration::ZERO, 0, 0, 0);
    }

    /// Everything that follows within this time.
    pub fn run(&mut self, length: Duration) {
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

    pub fn attached_where_they_are(&self) -> usize {
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
