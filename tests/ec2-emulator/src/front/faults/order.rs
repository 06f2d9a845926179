//! The requests that set a fault.

use serde::{Deserialize, Serialize};

use crate::wire::{Action, Form, Refusal};

/// Body of `POST /_emulator/faults`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultOrder {
    /// Only calls of this action; left out: any.
    pub action: Option<Action>,
    /// Only calls with this interface among their parameters.
    pub network_interface_id: Option<String>,
    /// Only calls with this address among their parameters.
    pub address: Option<String>,
    /// Only calls with this instance among their parameters.
    pub instance_id: Option<String>,
    /// Only an Assign that allows reassignment, or only one that does not.
    pub allow_reassignment: Option<bool>,
    /// The number of calls; left out: one.
    pub times: Option<u64>,
    /// The fault applies until it is cleared, instead of `times`.
    #[serde(default)]
    pub forever: bool,
    /// The number of matching calls that pass before.
    #[serde(default)]
    pub skip: u64,
    /// The effect on the call.
    pub kind: Kind,
    /// For `hold`, `delay`, `error`: before the execution (default) or after it.
    pub when: Option<When>,
    /// `error`: the HTTP status; default: the status of the code.
    pub status: Option<u16>,
    /// `error`: the error code; default: `InternalError`.
    pub code: Option<String>,
    /// `error`: the message.
    pub message: Option<String>,
    /// `delay`: milliseconds.
    pub ms: Option<u64>,
}

/// The effect on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The connection is closed, and the call is not executed.
    DropBefore,
    /// The call is executed, and the connection is closed without an answer.
    DropAfter,
    /// The answer is an error.
    Error,
    /// The call takes longer.
    Delay,
    /// The answer is `RequestLimitExceeded`.
    Throttle,
    /// The call is executed twice. The answer is the first one.
    Twice,
    /// The call waits until it is released.
    Hold,
}

/// Before or after the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before it.
    #[default]
    Before,
    /// After it, before the answer.
    After,
}

/// A fault: the calls that it affects, and its effect.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// Only calls of this action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Only calls that have each of these among the values of their parameters.
    pub parameters: Vec<String>,
    /// Only calls whose `AllowReassignment` is this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_reassignment: Option<bool>,
    /// The remaining number of calls. None: until it is cleared.
    pub times: Option<u64>,
    /// The number of matching calls that pass before.
    pub skip: u64,
    /// The effect on the call.
    pub effect: Effect,
}

/// The effect on a call, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Effect {
    /// The connection is closed.
    Drop {
        /// Before or after the execution.
        when: When,
    },
    /// The answer is this error.
    Error {
        /// After: the call was executed although the answer is an error.
        when: When,
        /// HTTP status.
        status: u16,
        /// The error code.
        code: String,
        /// The message.
        message: String,
    },
    /// The call takes longer.
    Delay {
        /// Before or after the execution.
        when: When,
        /// Milliseconds.
        ms: u64,
    },
    /// It is executed twice.
    Twice,
    /// The call waits until it is released.
    Hold {
        /// Before or after the execution.
        when: When,
    },
}

/// A request that does not describe a valid fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFault {
    /// Both `times` and `forever`, or no times at all.
    #[error("give either `times` above 0 or `forever`")]
    Times,
    /// A delay of unknown length.
    #[error("a fault of kind `delay` needs `ms`")]
    Delay,
    /// A status that HTTP does not have.
    #[error("{0} is not the HTTP status of an error")]
    Status(u16),
    /// A field that this kind does not use.
    #[error("a fault of this kind has no field `{0}`")]
    Unused(&'static str),
}

impl FaultOrder {
    /// Checks the request.
    ///
    /// # Errors
    /// The error in the request, as a sentence.
    pub fn check(self) -> Result<Fault, InvalidFault> {
        let times = match (self.times, self.forever) {
            (None, true) => None,
            (Some(0), _) | (Some(_), true) => return Err(InvalidFault::Times),
            (times, false) => Some(times.unwrap_or(1)),
        };
        self.only_used()?;
        let when = self.when.unwrap_or_default();
        let refusal = match self.kind {
            Kind::Throttle => Refusal::throttled(),
            _ => Refusal::new(
                self.code.unwrap_or_else(|| "InternalError".to_owned()),
                self.message
                    .unwrap_or_else(|| "An internal error has occurred".to_owned()),
            ),
        };
        let effect = match self.kind {
            Kind::DropBefore => Effect::Drop { when: When::Before },
            Kind::DropAfter => Effect::Drop { when: When::After },
            Kind::Error | Kind::Throttle => {
                let status = self.status.unwrap_or(refusal.status);
                if !(400..600).contains(&status) {
                    return Err(InvalidFault::Status(status));
                }
                Effect::Error {
                    when,
                    status,
                    code: refusal.code,
                    message: refusal.message,
                }
            }
            Kind::Delay => Effect::Delay {
                when,
                ms: self.ms.ok_or(InvalidFault::Delay)?,
            },
            Kind::Twice => Effect::Twice,
            Kind::Hold => Effect::Hold { when },
        };
        let parameters = [self.network_interface_id, self.address, self.instance_id];
        Ok(Fault {
            action: self.action,
            parameters: parameters.into_iter().flatten().collect(),
            allow_reassignment: self.allow_reassignment,
            times,
            skip: self.skip,
            effect,
        })
    }

    /// Refuses a field that has no effect, because it is a mistake in a test.
    fn only_used(&self) -> Result<(), InvalidFault> {
        let timed = matches!(self.kind, Kind::Hold | Kind::Delay | Kind::Error);
        let error = self.kind == Kind::Error;
        for (field, given, used) in [
            ("when", self.when.is_some(), timed),
            ("status", self.status.is_some(), error),
            ("code", self.code.is_some(), error),
            ("message", self.message.is_some(), error),
            ("ms", self.ms.is_some(), self.kind == Kind::Delay),
        ] {
            if given && !used {
                return Err(InvalidFault::Unused(field));
            }
        }
        Ok(())
    }
}

impl Fault {
    /// Does the fault match this call?
    #[must_use]
    pub fn matches(&self, action: Action, form: &Form) -> bool {
        self.action.is_none_or(|only| only == action)
            && self.parameters.iter().all(|value| form.has_value(value))
            && self
                .allow_reassignment
                .is_none_or(|only| form.flag("AllowReassignment") == Ok(only))
    }
}
