//! How EC2 executes the requests of the paced engine.

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::engine::Event;
use mooring_plan::facts::CallError;
use mooring_plan::names::IpName;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::CallGroup;

use crate::paced::{Ends, Paced, Sent};

/// How a request is executed, if not normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Executed at once; the answer is lost.
    Unanswered,
    /// Executed after this time, when the caller does not wait any more.
    Late(Duration),
    /// Executed and answered at once, and executed again after this time.
    Twice(Duration),
}

fn denied() -> CallError {
    CallError::new(
        Outcome::Denied,
        "UnauthorizedOperation: it is not permitted",
    )
}

fn unanswered() -> CallError {
    CallError::new(Outcome::Unknown, "Timeout: no answer in time")
}

impl Paced {
    pub(crate) fn call(&mut self, group: CallGroup, ips: Vec<(IpName, Address)>) -> Event {
        let addresses: Vec<_> = ips.iter().map(|(_, address)| *address).collect();
        let denied = (self.denies)(&group).then(denied);
        let result = match (self.fail.pop().or(denied), self.executions.pop()) {
            (Some(error), _) => Err(error),
            (None, None) => self.cloud.execute_together(&group, &addresses),
            (None, Some(Execution::Unanswered)) => {
                self.cloud.execute_together(&group, &addresses).unwrap();
                Err(unanswered())
            }
            (None, Some(Execution::Late(after))) => {
                self.ends_after(after, Ends::Request(group.clone(), addresses.clone()));
                Err(unanswered())
            }
            (None, Some(Execution::Twice(after))) => {
                self.ends_after(after, Ends::Request(group.clone(), addresses.clone()));
                self.cloud.execute_together(&group, &addresses)
            }
        };
        self.sent.push(Sent {
            at: self.now,
            group: group.clone(),
            addresses,
            refused: result.as_ref().err().map(|error| error.outcome),
        });
        Event::Called(group, ips, result)
    }
}
