//! Processes a call: bucket, latency, fault, execution, answer.

use std::time::Duration;

use tokio::time::sleep;

use crate::state::request::{Request, Response};
use crate::wire::action::Kind;
use crate::wire::{Action, Form, Refusal, answer, request};

use super::buckets::Bucket;
use super::counters::outcome;
use super::faults::{Effect, HeldCall, Release, Struck, When};
use super::history::{History, Moment};
use super::{Emulator, millis, unix_ms};

/// The response on the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// XML.
    Xml {
        /// HTTP status.
        status: u16,
        /// The document.
        body: String,
    },
    /// Nothing: the connection is closed.
    Closed,
}

/// The outcome of a call.
enum Fate {
    Answered(Result<String, Refusal>),
    DroppedBefore,
    DroppedAfter,
}

/// A call in progress.
struct Incoming {
    action: Action,
    form: Form,
    request_id: String,
}

/// Is this the first execution of a call or its repetition?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Second,
}

impl Emulator {
    /// Processes a call from its body to its answer, and counts it.
    pub(super) async fn call(&self, body: &[u8]) -> Answer {
        let form = Form::parse(body);
        let named = form.text("Action").unwrap_or("(none)").to_owned();
        let request_id = self.request_id();
        let action = form.required("Action").map(str::parse::<Action>);
        let fate = match action {
            Err(refusal) => Fate::Answered(Err(refusal)),
            Ok(Err(unknown)) => Fate::Answered(Err(unknown.into())),
            Ok(Ok(action)) => {
                let request_id = request_id.clone();
                self.decide(&Incoming {
                    action,
                    form,
                    request_id,
                })
                .await
            }
        };
        let mut inside = self.lock();
        let counted = match &fate {
            Fate::Answered(Ok(_)) => outcome::SUCCESS,
            Fate::Answered(Err(refusal)) => &refusal.code,
            Fate::DroppedBefore => outcome::DROPPED_BEFORE,
            Fate::DroppedAfter => outcome::DROPPED_AFTER,
        };
        inside.counters.count(&named, counted);
        tracing::debug!(action = named, outcome = counted, "call");
        match fate {
            Fate::Answered(Ok(body)) => Answer::Xml { status: 200, body },
            Fate::Answered(Err(refusal)) => Answer::Xml {
                status: refusal.status,
                body: refusal.to_xml(&request_id),
            },
            Fate::DroppedBefore | Fate::DroppedAfter => Answer::Closed,
        }
    }

    fn request_id(&self) -> String {
        let mut inside = self.lock();
        inside.requests += 1;
        format!("00000000-0000-4000-8000-{:012x}", inside.requests)
    }

    /// Executes a call of a known action.
    async fn decide(&self, call: &Incoming) -> Fate {
        let action = call.action;
        let bucket = Bucket {
            action,
            narrowed: request::narrowed(&call.form),
        };
        let (drawn, latency) = {
            let now = self.now();
            let mut inside = self.lock();
            let drawn = !inside.settings.token_buckets || inside.buckets.draw(bucket, now);
            (drawn, inside.settings.latency(action))
        };
        if !drawn {
            return Fate::Answered(Err(Refusal::throttled()));
        }
        if !latency.is_zero() {
            sleep(latency).await;
        }
        let struck = self.lock().faults.strike(action, &call.form);
        let Some(Struck { id, effect }) = struck else {
            return Fate::Answered(self.execute(call, Turn::First));
        };
        tracing::info!(%action, fault = id, ?effect, "a fault strikes");
        self.apply_fault(call, id, effect).await
    }

    /// Applies a fault to a call.
    async fn apply_fault(&self, call: &Incoming, fault: u64, effect: Effect) -> Fate {
        match effect {
            Effect::Drop { when: When::Before } => Fate::DroppedBefore,
            Effect::Drop { when: When::After } => {
                // The client must not receive the outcome.
                let _ = self.execute(call, Turn::First);
                Fate::DroppedAfter
            }
            Effect::Error {
                when,
                status,
                code,
                message,
            } => {
                if when == When::After {
                    let _ = self.execute(call, Turn::First);
                }
                Fate::Answered(Err(Refusal {
                    status,
                    code,
                    message,
                }))
            }
            Effect::Delay { when, ms } => {
                let delay = Duration::from_millis(ms);
                if when == When::Before {
                    sleep(delay).await;
                }
                let answer = self.execute(call, Turn::First);
                if when == When::After {
                    sleep(delay).await;
                }
                Fate::Answered(answer)
            }
            Effect::Twice => {
                let answer = self.execute(call, Turn::First);
                let _ = self.execute(call, Turn::Second);
                Fate::Answered(answer)
            }
            Effect::Hold { when: When::Before } => {
                match self.hold(call, fault, When::Before).await {
                    Release::GoOn => Fate::Answered(self.execute(call, Turn::First)),
                    Release::Drop => Fate::DroppedBefore,
                }
            }
            Effect::Hold { when: When::After } => {
                let answer = self.execute(call, Turn::First);
                match self.hold(call, fault, When::After).await {
                    Release::GoOn => Fate::Answered(answer),
                    Release::Drop => Fate::DroppedAfter,
                }
            }
        }
    }

    async fn hold(&self, call: &Incoming, fault: u64, when: When) -> Release {
        let since_ms = millis(self.now());
        let shown = HeldCall::new(fault, when, call.action, &call.form, since_ms);
        let released = self.lock().faults.held.hold(shown);
        // The sender is dropped only with the emulator itself.
        released.await.unwrap_or(Release::Drop)
    }

    /// Executes a call with the rules of EC2, immediately.
    fn execute(&self, incoming: &Incoming, turn: Turn) -> Result<String, Refusal> {
        let Incoming {
            action,
            form,
            request_id,
        } = incoming;
        let action = *action;
        let call = request::read(action, form)?;
        if form.flag("DryRun")? {
            return Err(Refusal::dry_run());
        }
        let mut guard = self.lock();
        let inside = &mut *guard;
        // Read while the lock is held, so that the order of the times is the order of the executions.
        let now = self.now();
        let lag = inside.settings.lag();
        let write = |ec2: &_, response| {
            answer::write(action, ec2, response, &call.page, call.narrowed, request_id)
        };
        match call.request {
            Request::Read(read) => {
                debug_assert_eq!(action.kind(), Kind::Read);
                let ec2 = inside.seen.seen(now, lag);
                let seen = ec2.read(&read)?;
                drop(guard);
                write(&ec2, Response::Seen(seen))
            }
            Request::Change(change) => {
                let moment = Moment {
                    at_ms: millis(now),
                    unix_ms: unix_ms(),
                };
                let entry =
                    History::begin(&inside.ec2, action, &change, moment, turn == Turn::Second);
                let result = inside.ec2.change(change);
                inside.history.end(entry, &result);
                if result.is_ok() {
                    inside.seen.record(now, lag, &inside.ec2);
                }
                write(&inside.ec2, Response::Changed(result?))
            }
        }
    }
}
