//! EC2 with faults, and with a Describe that lags.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use mooring_plan::cloud::Interface;
use mooring_plan::facts::CallError;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::Call;
use mooring_plan::time::Instant;
use mooring_world::cloud::Cloud;

/// The fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// EC2 denies the call.
    Denied,
    /// EC2 throttles the call.
    Throttled,
    /// Executed, and the answer is lost.
    AnswerLost,
    /// The request is lost.
    RequestLost,
    /// Refused because the ENI is full, independent of its addresses.
    NoRoom,
    /// Refused: the address is in use, also where no Describe shows it.
    AssignedElsewhere,
    /// Refused: EC2 does not know the ENI, also where Describe shows it.
    InterfaceNotFound,
    /// Refused for another reason.
    Invalid,
}

/// EC2, and the faults to come.
#[derive(Clone)]
pub struct Ec2 {
    cloud: Cloud,
    /// The faults of the next calls.
    pub faults: VecDeque<Fault>,
    /// The fault of the calls after these, if any.
    pub default_fault: Option<fn(&Call) -> Fault>,
    /// `DescribeNetworkInterfaces` shows the state of this time ago.
    pub lag: Duration,
    /// Changes an ENI in the answer of Describe; false: the ENI is not shown.
    pub shows: fn(&mut Interface) -> bool,
    /// The controllers ask in another region, or as another account: EC2 knows none of the ids, and lists no ENI.
    pub elsewhere: bool,
    past: Vec<(Instant, Vec<Interface>)>,
}

impl Deref for Ec2 {
    type Target = Cloud;

    fn deref(&self) -> &Cloud {
        &self.cloud
    }
}

impl DerefMut for Ec2 {
    fn deref_mut(&mut self) -> &mut Cloud {
        &mut self.cloud
    }
}

fn refused(outcome: Outcome) -> CallError {
    CallError::new(outcome, outcome.as_str())
}

impl Ec2 {
    pub fn with_limit(limit: u32) -> Self {
        Self {
            cloud: Cloud::with_limit(limit),
            faults: VecDeque::new(),
            default_fault: None,
            lag: Duration::ZERO,
            shows: |_| true,
            elsewhere: false,
            past: Vec::new(),
        }
    }

    /// Answers a call, with the next fault.
    pub fn answer(&mut self, call: &Call, now: Instant) -> Result<(), CallError> {
        if self.elsewhere {
            return Err(refused(Outcome::InterfaceNotFound));
        }
        let always = self.default_fault.map_or(Fault::None, |fault| fault(call));
        match self.faults.pop_front().unwrap_or(always) {
            Fault::None => self.execute(call, now),
            Fault::Denied => Err(refused(Outcome::Denied)),
            Fault::Throttled => Err(refused(Outcome::Throttled)),
            Fault::AssignedElsewhere => Err(refused(Outcome::AssignedElsewhere)),
            Fault::InterfaceNotFound => Err(refused(Outcome::InterfaceNotFound)),
            Fault::Invalid => Err(refused(Outcome::Invalid)),
            // Other programs have filled the ENI, unless the address is there already.
            Fault::NoRoom => match call {
                Call::Assign { interface: to, .. }
                    if self.holder_of(call.address()).as_ref() != Some(to) =>
                {
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

    /// Executes a call, from any client and at any time.
    pub fn execute(&mut self, call: &Call, now: Instant) -> Result<(), CallError> {
        self.remember(now);
        self.cloud.execute(call)
    }

    /// Stores the present state for a Describe that lags.
    pub fn remember(&mut self, now: Instant) {
        self.past.push((now, self.cloud.describe()));
    }

    /// The time whose state a Describe shows now.
    pub fn shown_at(&self, now: Instant) -> Instant {
        Instant::START.plus(now.since(Instant::START.plus(self.lag)))
    }

    /// `DescribeNetworkInterfaces`.
    pub fn describe(&self, now: Instant) -> Vec<Interface> {
        if self.elsewhere {
            return Vec::new();
        }
        let of = self.shown_at(now);
        let past = self.past.iter().find(|(until, _)| *until > of);
        let mut shown = past.map_or_else(|| self.cloud.describe(), |(_, shown)| shown.clone());
        shown.retain_mut(self.shows);
        shown
    }
}
