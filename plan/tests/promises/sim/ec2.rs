//! EC2's rules about addresses, as far as decisions meet them: one interface for an address, a limit
//! for each interface, refusal unless reassignment is allowed, and a Describe that may lag.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use mooring_plan::cloud::{InstanceState, Interface, Reassign};
use mooring_plan::facts::CallError;
use mooring_plan::names::{InstanceId, InterfaceId, Millis};
use mooring_plan::outcome::Outcome;
use mooring_plan::step::Call;

/// What befalls a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing befalls it.
    None,
    /// Not permitted.
    Denied,
    /// Too many calls.
    Throttled,
    /// Executed, and the answer is lost.
    AnswerLost,
    /// Lost on the way there.
    RequestLost,
    /// Refused for a full interface, whatever it has.
    NoRoom,
}

/// What EC2 has.
#[derive(Clone, Default)]
pub struct Ec2 {
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    pub instances: BTreeMap<InstanceId, InstanceState>,
    /// Addresses on an interface, at most.
    pub limit: u32,
    /// For each of the next calls.
    pub faults: VecDeque<Fault>,
    /// What befalls the calls after these, where not nothing.
    pub befalls: Option<fn(&Call) -> Fault>,
    /// `DescribeNetworkInterfaces` shows what was so this long ago.
    pub lag: Millis,
    /// How many calls were refused for want of a permission: EC2's sentence is another each time.
    denied: u32,
    past: Vec<(Millis, BTreeMap<InterfaceId, Interface>)>,
}

fn refused(outcome: Outcome) -> CallError {
    CallError {
        outcome,
        code: outcome.as_str().to_owned(),
        message: "as the test has it".to_owned(),
    }
}

impl Ec2 {
    pub fn with_limit(limit: u32) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Where the address is.
    pub fn holder_of(&self, address: Ipv4Addr) -> Option<&InterfaceId> {
        let mut on = self
            .interfaces
            .values()
            .filter(|interface| interface.addresses.contains(&address));
        let first = on.next();
        assert!(on.next().is_none(), "{address} on two interfaces");
        first.map(|interface| &interface.id)
    }

    fn in_a_prefix(&self, address: Ipv4Addr) -> bool {
        let mut interfaces = self.interfaces.values();
        interfaces.any(|interface| {
            let mut prefixes = interface.prefixes.iter();
            prefixes.any(|prefix| prefix.contains(&address))
        })
    }

    /// Answers a call, with the fault that is its turn.
    pub fn answer(&mut self, call: &Call, now: Millis) -> Result<(), CallError> {
        let always = self.befalls.map_or(Fault::None, |befalls| befalls(call));
        match self.faults.pop_front().unwrap_or(always) {
            Fault::None => self.execute(call, now),
            Fault::Denied => {
                self.denied += 1;
                let refused = refused(Outcome::Denied);
                let n = self.denied;
                let message =
                    format!("User {n} may not. Encoded authorization failure message: {n}");
                Err(CallError { message, ..refused })
            }
            Fault::Throttled => Err(refused(Outcome::Throttled)),
            // Others were faster, unless the address is there already.
            Fault::NoRoom => match call {
                Call::Assign(to, ..) if self.holder_of(call.address()) != Some(to) => {
                    Err(refused(Outcome::NoRoom))
                }
                _ => self.execute(call, now),
            },
            Fault::AnswerLost => {
                let _ = self.execute(call, now);
                Err(refused(Outcome::Unknown))
            }
            Fault::RequestLost => Err(refused(Outcome::Unknown)),
        }
    }

    /// Executes a call, as EC2 does whoever sent it and whenever.
    pub fn execute(&mut self, call: &Call, now: Millis) -> Result<(), CallError> {
        let address = call.address();
        let on = self.holder_of(address).cloned();
        let limit = self.limit as usize;
        let Some(interface) = self.interfaces.get(call.interface()) else {
            return Err(refused(Outcome::InterfaceNotFound));
        };
        match call {
            Call::Unassign(..) if on.as_ref() != Some(&interface.id) => Err(refused(Outcome::Done)),
            Call::Unassign(..) if interface.primary == Some(address) => {
                Err(refused(Outcome::Primary))
            }
            Call::Unassign(id, _) => {
                let id = id.clone();
                self.put(address, None, now);
                assert!(!self.interfaces[&id].addresses.contains(&address));
                Ok(())
            }
            Call::Assign(id, ..) if on.as_ref() == Some(id) => Ok(()),
            Call::Assign(..) if self.in_a_prefix(address) => {
                Err(refused(Outcome::AssignedElsewhere))
            }
            Call::Assign(..) if interface.addresses.len() + interface.prefixes.len() >= limit => {
                Err(refused(Outcome::NoRoom))
            }
            Call::Assign(id, _, reassign) => match on {
                Some(on) if self.interfaces[&on].primary == Some(address) => {
                    Err(refused(Outcome::Primary))
                }
                Some(_) if *reassign == Reassign::Refuse => {
                    Err(refused(Outcome::AssignedElsewhere))
                }
                _ => {
                    let id = id.clone();
                    self.put(address, Some(&id), now);
                    Ok(())
                }
            },
        }
    }

    /// Puts an address on an interface, or nowhere, whoever wants that.
    pub fn put(&mut self, address: Ipv4Addr, on: Option<&InterfaceId>, now: Millis) {
        self.remember(now);
        for interface in self.interfaces.values_mut() {
            interface.addresses.remove(&address);
        }
        if let Some(interface) = on.and_then(|id| self.interfaces.get_mut(id)) {
            interface.addresses.insert(address);
        }
    }

    /// Keeps what is so now for a Describe that lags.
    pub fn remember(&mut self, now: Millis) {
        self.past.push((now, self.interfaces.clone()));
    }

    /// `DescribeNetworkInterfaces`.
    pub fn describe(&self, now: Millis) -> Vec<Interface> {
        let of = now.since(self.lag);
        let shown = self
            .past
            .iter()
            .find(|(until, _)| *until > of)
            .map_or(&self.interfaces, |(_, interfaces)| interfaces);
        shown.values().cloned().collect()
    }

    /// The addresses besides primary ones that are on interfaces.
    pub fn assigned(&self) -> BTreeSet<(Ipv4Addr, InterfaceId)> {
        self.interfaces
            .values()
            .flat_map(|interface| {
                interface
                    .addresses
                    .iter()
                    .filter(|address| interface.primary != Some(**address))
                    .map(|address| (*address, interface.id.clone()))
            })
            .collect()
    }
}
