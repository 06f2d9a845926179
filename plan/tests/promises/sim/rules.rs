//! The safety rules, which are asserted at every step, and the past states that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{InterfaceId, IpName, IpUid, NodeName, PodKey, PodUid};
use mooring_plan::objects::{ClaimPhase, Ip, IpStatus, Pod};
use mooring_plan::reason::Reason;
use mooring_plan::step::{Call, Notice, Read, Regarding, Step, Write};
use mooring_plan::time::Instant;
use mooring_world::queries::explains;

use super::{INTERVAL, Sim};

/// The last inventory of a controller.
#[derive(Clone, Copy)]
struct ShownInventory {
    begun: Instant,
    /// The time whose state its answer shows (Describe lags).
    shows: Instant,
}

/// A past state, when it was seen, and which processes saw it.
#[derive(Clone, Default)]
pub struct Rules {
    /// The reasons of the notices on each object.
    reasons: BTreeMap<String, BTreeSet<Reason>>,
    notices: BTreeSet<Notice>,
    inventories: BTreeMap<usize, ShownInventory>,
    pub(super) reads: BTreeMap<(usize, PodKey), Instant>,
    pub(super) written: BTreeMap<(usize, IpName), Instant>,
    pub(super) nodes: BTreeMap<NodeName, Instant>,
    pub(super) sets: Option<Instant>,
    by_hand: BTreeMap<Address, Instant>,
    /// Each address and each ENI that a foreign client ever put it on.
    by_hand_on: BTreeSet<(Address, InterfaceId)>,
}

impl Rules {
    pub fn record(&mut self, notices: &[Notice]) {
        for notice in notices {
            let on = match &notice.on {
                Regarding::Ip(name, _) => format!("IP {name}"),
                Regarding::Pod(key, _) => key.name.clone(),
                Regarding::Block(name, _) => format!("block {name}"),
                Regarding::Node(name, _) => format!("node {name}"),
            };
            self.reasons.entry(on).or_default().insert(notice.reason);
            self.notices.insert(notice.clone());
        }
    }

    /// Every different notice of this reason.
    pub fn notices(&self, reason: Reason) -> Vec<&Notice> {
        let all = self.notices.iter();
        all.filter(|notice| notice.reason == reason).collect()
    }

    pub fn reported(&self, on: &str, reason: Reason) -> bool {
        self.reasons
            .get(on)
            .is_some_and(|reasons| reasons.contains(&reason))
    }

    pub fn inventory(&mut self, controller: usize, begun: Instant, shows: Instant) {
        self.inventories
            .insert(controller, ShownInventory { begun, shows });
    }

    pub fn node_changed(&mut self, name: &str, now: Instant) {
        self.nodes.insert(NodeName::from(name), now);
    }

    pub fn sets_changed(&mut self, now: Instant) {
        self.sets = Some(now);
    }

    pub fn put_by_hand(&mut self, address: Address, on: Option<&InterfaceId>, now: Instant) {
        self.by_hand.insert(address, now);
        self.by_hand_on.extend(on.map(|on| (address, on.clone())));
    }

    /// The process was restarted: its reads do not count any more.
    pub fn restarted(&mut self, controller: usize) {
        self.reads.retain(|(of, _), _| *of != controller);
        self.inventories.remove(&controller);
    }

    /// Has a foreign client ever put the address on this ENI?
    pub fn ever_by_hand(&self, address: Address, on: &InterfaceId) -> bool {
        self.by_hand_on.contains(&(address, on.clone()))
    }
}

impl Sim {
    /// The rules before a step is done.
    pub fn check_before(&mut self, controller: usize, name: &IpName, step: &Step) {
        match step {
            Step::Read(Read::Pod(key)) => {
                self.rules.reads.insert((controller, key.clone()), self.now);
            }
            Step::Call(call) => self.check_call(controller, name, call),
            Step::Write(Write::Status {
                version,
                change,
                status,
                ..
            }) => {
                let before = self.controllers[controller]
                    .facts()
                    .ip(name)
                    .unwrap()
                    .clone();
                if before.version == *version {
                    self.check_places(&before, status);
                    self.check_loss(controller, &before, *change, status);
                }
            }
            Step::Write(Write::Release(seen)) => {
                // A Release of a deleted object has no effect, because it is guarded by the UID.
                let there = self.kube.reservations.get(&seen.address);
                let there = there.is_some_and(|there| there.uid == seen.uid);
                if let Some(ip) = self.kube.ips.get(name).filter(|_| there) {
                    // A primary address does not belong to an IP.
                    let assigned = self.ec2.assigned().into_iter();
                    let on = assigned.filter(|(address, _)| *address == seen.address);
                    let on = on.map(|(_, on)| on).next();
                    // A change by a foreign client since the last inventory, or shortly before, cannot be known:
                    // Describe lags, and an own write overrides it for some time. It is reported as an orphan
                    // later.
                    let by_hand = self.rules.by_hand.get(&seen.address);
                    let looked = self.rules.inventories.get(&controller);
                    let unseen = by_hand.is_some_and(|at| {
                        self.now.since(*at) < Duration::from_secs(30)
                            || looked.is_none_or(|it| it.shows <= *at)
                    });
                    assert!(
                        unseen
                            || on
                                .as_ref()
                                .is_none_or(|on| !explains(&ip.status, seen.address, on)),
                        "the reservation of {} goes while it is on {on:?}\n{}",
                        seen.address,
                        self.story()
                    );
                }
            }
            Step::Write(_) | Step::Read(_) => {}
        }
    }

    /// S1 at the calls, S2, S3 and S4.
    fn check_call(&self, controller: usize, name: &IpName, call: &Call) {
        let address = call.address();
        let facts = self.controllers[controller].facts();
        let sender = facts.ip(name).unwrap();
        let story = || self.story();
        // With the status from which the call was decided (S2 when sent, S3).
        let sent = &sender.status;
        match call {
            Call::Assign { interface, .. } => {
                let claimed = sent.claim.as_ref().is_some_and(|claim| {
                    matches!(&claim.phase, ClaimPhase::Claimed(target) if &target.place.interface == interface)
                });
                assert!(
                    claimed && sent.address == Some(address),
                    "{call:?} without its claim\n{}",
                    story()
                );
            }
            Call::Unassign { interface, .. } => {
                assert!(
                    explains(sent, address, interface),
                    "{call:?} is not explained\n{}",
                    story()
                );
                let fresh = self.rules.inventories.get(&controller).is_some_and(|look| {
                    self.now.since(look.begun) <= INTERVAL * 2 + Duration::from_secs(10)
                });
                assert!(fresh, "{call:?} without an inventory\n{}", story());
            }
        }
        // With the present status, when EC2 executes the call.
        let Some(ip) = self.kube.ips.get(name).filter(|ip| ip.uid == sender.uid) else {
            panic!("{call:?} for an IP that is gone\n{}", story());
        };
        assert!(
            explains(&ip.status, address, call.interface()),
            "{call:?} and the durable status knows nothing of it\n{}",
            story()
        );
        let true_at: Vec<&PodUid> = self.saying_attached(ip).map(|pod| &pod.uid).collect();
        if ip.status.address == Some(address) {
            assert!(
                true_at.is_empty(),
                "{call:?} while {true_at:?} say True\n{}",
                story()
            );
        }
        if let (
            Call::Assign {
                interface: to,
                reassign: Reassign::Allow,
                ..
            },
            Some(on),
        ) = (call, self.ec2.holder_of(address))
        {
            let looked = self.rules.inventories.get(&controller);
            let since_then = self
                .rules
                .by_hand
                .get(&address)
                .zip(looked)
                .is_some_and(|(put, looked)| *put >= looked.shows);
            assert!(
                on == *to || explains(&ip.status, address, &on) || since_then,
                "{address} is stolen from {on}\n{}",
                story()
            );
        }
    }

    /// A place is added to `previous` only if it was a target, was known, or is named by `take-from`. A place that has
    /// the address is never removed.
    fn check_places(&self, before: &Ip, after: &IpStatus) {
        let story = || self.story();
        for entry in &after.previous {
            assert!(
                explains(&before.status, entry.address, &entry.interface)
                    || before.take_from.as_ref() == Some(&entry.interface),
                "{} on {} comes from nowhere\n{}",
                entry.address,
                entry.interface,
                story()
            );
        }
        assert!(after.previous.len() <= 8, "too many places\n{}", story());
        // A claimed place stays explained while it has the address.
        let (Some(claim), Some(address)) = (&before.status.claim, before.status.address) else {
            return;
        };
        if let Some(target) = claim.target()
            && self.ec2.holder_of(address).as_ref() == Some(&target.place.interface)
        {
            assert!(
                explains(after, address, &target.place.interface),
                "{address} is forgotten on {}\n{}",
                target.place.interface,
                story()
            );
        }
    }

    /// S1, after every step that changes anything.
    pub fn check_after(&mut self, controller: usize, name: &IpName, step: &Step) {
        if matches!(step, Step::Read(_)) {
            return;
        }
        self.rules
            .written
            .insert((controller, name.clone()), self.now);
        let mut saying: BTreeMap<&IpUid, Vec<&PodUid>> = BTreeMap::new();
        for pod in self.kube.pods.values().filter(|pod| pod.reports_attached()) {
            let ip = pod.ip.as_ref().expect("only an annotated pod gets True");
            saying.entry(ip).or_default().push(&pod.uid);
        }
        for (ip, pods) in saying {
            assert!(pods.len() <= 1, "{ip}: {pods:?} say True\n{}", self.story());
        }
    }

    /// The pods whose gate says that they have the address of this IP.
    pub fn saying_attached<'a>(&'a self, ip: &'a Ip) -> impl Iterator<Item = &'a Pod> {
        self.kube.reports_attached(ip)
    }
}
