//! Sends mutating requests to EC2: decides which request is next, and which addresses it has.
//! Rules: R5.28 to R5.31.

use alloc::vec::Vec;

use super::call_queue::A_TOKEN;
use super::reconcile::{AT_ONCE, CALL_AGAIN};
use super::{Effect, Engine, InFlight};
use crate::address::Address;
use crate::facts::{Affected, CallError, Fact};
use crate::names::{BlockName, InterfaceId, IpName};
use crate::objects::{ClaimPhase, Ip, IpStatus};
use crate::outcome::Action;
use crate::step::{CallGroup, StatusWrite, Step, Write};
use crate::time::Instant;

/// The priority of a request when tokens are short: the lowest value is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    /// A pod waits for the address.
    Pod,
    /// A pod waits for room on the ENI.
    Room,
    /// No pod waits.
    Nothing,
}

impl Engine {
    /// Begins the requests that may begin now.
    pub(super) fn begin_calls(&mut self, now: Instant) {
        self.calls.set_next(None);
        let facts = &self.facts;
        self.calls.forget_old(now, |block| facts.knows_block(block));
        let mut next = None;
        let mut later =
            |due: Instant| next = next.map_or(Some(due), |next: Instant| Some(next.min(due)));
        let mut groups = Vec::new();
        let waiting = self.calls.groups();
        let [assigns, unassigns] =
            [Action::Assign, Action::Unassign].map(|action| self.soon_used(action, &waiting, now));
        for group in waiting {
            let used = match &group {
                CallGroup::Assign(..) => assigns,
                CallGroup::Unassign(..) => unassigns,
            };
            let due = self.calls.due(&group, used, self.others_come(&group));
            if due <= now {
                let members = self.calls.members(&group);
                let priority = self.priority(&group, &members);
                let block = members.first().and_then(|(ip, _)| self.facts.block_of(ip));
                groups.push((priority, block, self.calls.since(&group), group));
            } else {
                // Tokens come back meanwhile, so that it can be sooner.
                later(due.min(now.plus(A_TOKEN)));
            }
        }
        while self.requests() < AT_ONCE {
            let turn = |block: &Option<BlockName>| self.calls.turn(block.as_ref());
            let best = groups
                .iter()
                .enumerate()
                .min_by_key(|(_, (priority, block, since, _))| (*priority, turn(block), *since));
            let Some((at, _)) = best else { break };
            let (_, block, _, group) = groups.swap_remove(at);
            if !self.leadership.may_call(now) {
                later(now.plus(CALL_AGAIN));
                break;
            }
            if let Err(due) = self.begin_call(&group, block, now) {
                later(due);
                groups.retain(|(.., other)| other.action() != group.action());
            }
        }
        self.calls.set_next(next);
        // IPs for which another step was decided meanwhile.
        self.begin_steps(now);
    }

    /// Begins one request of a group, with the calls that are still decided.
    ///
    /// # Errors
    /// No token is available: when to try again.
    pub(super) fn begin_call(
        &mut self,
        group: &CallGroup,
        block: Option<BlockName>,
        now: Instant,
    ) -> Result<(), Instant> {
        let mut members = Vec::new();
        for (ip, address) in self.calls.members(group) {
            let decided = self.facts.decide(&ip, now).step;
            if decided == Some(Step::Call(group.call(address))) {
                members.push((ip, address));
            } else {
                self.calls.remove(&ip);
                self.queue.push(ip);
            }
        }
        if members.is_empty() {
            return Ok(());
        }
        self.take_token(group.action(), now)?;
        self.calls.begun(group, block, now);
        let effect = self.send(group.clone(), members, now);
        self.outbox.push_back(effect);
        Ok(())
    }

    /// Marks these IPs as in flight, and returns the effect that sends their request.
    pub(super) fn send(
        &mut self,
        group: CallGroup,
        members: Vec<(IpName, Address)>,
        now: Instant,
    ) -> Effect {
        for (ip, address) in &members {
            let call = group.call(*address);
            self.calls.forget(ip);
            if self.is_paced() {
                self.repeats.began(ip, &Step::Call(call.clone()), now);
            }
            let concerns = self.next_interfaces(ip, &group);
            self.apply_fact(Fact::CallBegun(ip.clone(), call), now, now);
            let flight = InFlight {
                begun: now,
                event: None,
                concerns,
                instance: None,
            };
            self.in_flight.insert(ip.clone(), flight);
        }
        self.together += members.len().saturating_sub(1);
        Effect::Calls(group, members)
    }

    /// Handles the answer to a request. If EC2 refused several addresses for a reason that can concern only one of
    /// them, nothing was done, and they are sent again in smaller requests.
    pub(super) fn called(
        &mut self,
        group: &CallGroup,
        ips: &[(IpName, Address)],
        result: &Result<(), CallError>,
        now: Instant,
    ) {
        let flights = ips.iter().filter_map(|(ip, _)| self.ended(ip, now));
        let Some(begun) = flights.map(|flight| flight.begun).min() else {
            return;
        };
        let failed = result.as_ref().err().map(|error| error.outcome);
        self.ec2_answered(group.action(), failed, now);
        self.together = self.together.saturating_sub(ips.len().saturating_sub(1));
        match result {
            Err(error) if ips.len() > 1 && error.outcome.is_of_one_address() => {
                self.calls.refused(group, ips, &error.named, now);
                // Nothing is learned of an address, but EC2 serves the action.
                if self.facts.outage_ends(group.action(), result, now) {
                    self.queue_affected(Affected::All);
                }
            }
            result => {
                if result.is_ok() {
                    self.calls.succeeded(group);
                }
                for (ip, address) in ips {
                    if result.is_ok() && group.action() == Action::Assign {
                        self.failover_assigned(ip, now);
                    }
                    let fact = Fact::Called {
                        ip: ip.clone(),
                        call: group.call(*address),
                        result: result.clone(),
                    };
                    self.apply_fact(fact, begun, now);
                }
            }
        }
        self.queue.extend(ips.iter().map(|(ip, _)| ip));
    }

    /// Number of requests for IPs in flight.
    pub(super) fn requests(&self) -> usize {
        self.in_flight.len().saturating_sub(self.together)
    }

    /// Removes the step in flight of an IP.
    pub(super) fn ended(&mut self, ip: &IpName, now: Instant) -> Option<InFlight> {
        let flight = self.in_flight.remove(ip)?;
        if !flight.concerns.is_empty() {
            self.calls.note_claim_step(now);
        }
        Some(flight)
    }

    /// The number of tokens that the bucket lacks, for an action for which a group waits. While claims are carried out,
    /// each other group that waits counts as well: all of them will soon have sent, and the next claims can go in the
    /// same requests.
    fn soon_used(&mut self, action: Action, waiting: &[CallGroup], now: Instant) -> u64 {
        let same = waiting.iter().filter(|group| group.action() == action);
        let Some(others) = same.count().checked_sub(1) else {
            return 0;
        };
        let used = self.buckets.used(action, now);
        let mut flights = self.in_flight.values();
        if !self.calls.more_expected(now) && flights.all(|flight| flight.concerns.is_empty()) {
            return used;
        }
        used.saturating_add(u64::try_from(others).unwrap_or(u64::MAX))
    }

    /// True if another IP can need a call to this ENI after its step in flight.
    fn others_come(&self, group: &CallGroup) -> bool {
        let interface = group.interface();
        let mut flights = self.in_flight.values();
        flights.any(|flight| flight.concerns.contains(interface))
    }

    fn priority(&self, group: &CallGroup, members: &[(IpName, Address)]) -> Priority {
        if group.action() == Action::Assign {
            return Priority::Pod;
        }
        let mut ips = members.iter().filter_map(|(ip, _)| self.facts.ip(ip));
        if ips.any(|ip| ip.unfinished_for().is_some() || self.next_pod_waits(ip)) {
            Priority::Pod
        } else if self.facts.affected_by_room(group.interface()).is_empty() {
            Priority::Nothing
        } else {
            Priority::Room
        }
    }

    /// True if the address is being detached, and a pod that is bound to a node gets it next.
    fn next_pod_waits(&self, ip: &Ip) -> bool {
        let claim = ip.status.claim.as_ref().filter(|_| !ip.deleting);
        let detaching = claim.is_some_and(|claim| claim.phase == ClaimPhase::Detaching);
        let mut pods = self.facts.pods_asking(&ip.name);
        detaching && pods.any(|seen| seen.pod.wants_address() && seen.pod.node.is_some())
    }

    /// The ENIs for which an IP can need a call after this step.
    pub(super) fn concerns(&self, ip: &IpName, step: &Step) -> Vec<InterfaceId> {
        match step {
            Step::Write(Write::Status {
                change: StatusWrite::Record | StatusWrite::Clear,
                ..
            }) => Vec::new(),
            Step::Write(Write::Status { status, .. }) => unfinished(status),
            Step::Write(_) | Step::Read(_) | Step::Call(_) => {
                let known = self.facts.ip(ip);
                known.map_or_else(Vec::new, |ip| unfinished(&ip.status))
            }
        }
    }

    /// The ENIs for which an IP can need a call after this call: an Unassign is followed by an Assign to the target.
    fn next_interfaces(&self, ip: &IpName, group: &CallGroup) -> Vec<InterfaceId> {
        if !self.is_paced() || group.action() != Action::Unassign {
            return Vec::new();
        }
        let target = self.facts.ip(ip).and_then(Ip::unfinished_for);
        target.cloned().into_iter().collect()
    }
}

/// The ENIs of an unfinished claim: its target and the previous places.
fn unfinished(status: &IpStatus) -> Vec<InterfaceId> {
    let Some(claim) = &status.claim else {
        return Vec::new();
    };
    let target = match &claim.phase {
        ClaimPhase::Recorded(_) => return Vec::new(),
        ClaimPhase::Claimed(target) => Some(&target.place.interface),
        ClaimPhase::Detaching => None,
    };
    let previous = status.previous.iter().map(|entry| &entry.interface);
    target.into_iter().chain(previous).cloned().collect()
}
