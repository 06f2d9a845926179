//! EC2 with faults for its clients, and with a Describe that lags.

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
    /// Refused for a reason that has no name.
    Invalid,
}

/// EC2, and the faults to come.
#[derive(Clone)]
pub struct Ec2 {
    cloud: Cloud,
    /// For each of the next calls.
    pub faults: VecDeque<Fault>,
    /// The fault of the calls after these, if any.
    pub default_fault: Option<fn(&Call) -> Fault>,
    /// `DescribeNetworkInterfaces` shows what was so this long ago.
    pub lag: Duration,
    /// How a Describe shows an interface; false: not at all.
    pub shows: fn(&mut Interface) -> bool,
    /// How many calls were refused without a permission: the message of EC2 differs each time.
    denied: u32,
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
    CallError {
        outcome,
        code: outcome.as_str().to_owned(),
        message: "as the test has it".to_owned(),
    }
}

impl Ec2 {
    pub fn with_limit(limit: u32) -> Self {
        Self {
            cloud: Cloud::with_limit(limit),
            faults: VecDeque::new(),
            default_fault: None,
            lag: Duration::ZERO,
            shows: |_| true,
            denied: 0,
            past: Vec::new(),
        }
    }

    /// Answers a call, with the fault that is its turn.
    pub fn answer(&mut self, call: &Call, now: Instant) -> Result<(), CallError> {
        let always = self.default_fault.map_or(Fault::None, |fault| fault(call));
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
            Fault::Invalid => Err(refused(Outcome::Invalid)),
            // Others were faster, unless the address is there already.
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

    /// Keeps what is so now for a Describe that lags.
    pub fn remember(&mut self, now: Instant) {
        self.past.push((now, self.cloud.describe()));
    }

    /// `DescribeNetworkInterfaces`.
    pub fn describe(&self, now: Instant) -> Vec<Interface> {
        let of = now.since(Instant::START.plus(self.lag));
        let of = Instant::START.plus(of);
        let past = self.past.iter().find(|(until, _)| *until > of);
        let mut shown = past.map_or_else(|| self.cloud.describe(), |(_, shown)| shown.clone());
        shown.retain_mut(self.shows);
        shown
    }
}
