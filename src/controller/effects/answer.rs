//! Converts the answer to a write to facts.

use kube::core::DynamicObject;
use mooring_plan::engine::Completion;
use mooring_plan::facts::{Fact, WriteOutcome, Written};
use mooring_plan::names::IpName;
use mooring_plan::step::Write;

use super::Effects;
use super::patch::PatchOutcome;
use crate::api::read::{self, Unreadable};
use crate::controller::error::Failure;
use crate::telemetry::chain;

/// What the API server says if it cannot call an admission webhook that the write needs.
const NOT_CALLED: &str = "failed calling webhook";

/// The outcome of a failed write: refused for good only if the API server refused it.
fn outcome(failure: &Failure) -> WriteOutcome {
    let Some(status) = failure.status() else {
        return WriteOutcome::Unknown;
    };
    match status.code {
        404 => WriteOutcome::NotFound,
        409 if status.is_already_exists() => WriteOutcome::AlreadyExists,
        409 => WriteOutcome::Conflict,
        // Too many requests: the write was not executed, and is tried again like one with an unknown outcome.
        429 => WriteOutcome::Unknown,
        400..500 => WriteOutcome::Refused(status.message.clone()),
        // Admission comes before the write: nothing was written.
        500 if status.reason == "InternalError" && status.message.contains(NOT_CALLED) => {
            WriteOutcome::Refused(status.message.clone())
        }
        _ => WriteOutcome::Unknown,
    }
}

impl Effects {
    /// The outcome of a write of a block or of a Node. A watch shows the new object: a fact from the answer could arrive
    /// after the end of the object, which would then stay in the facts permanently.
    pub(super) fn outcome_of(&self, done: Result<PatchOutcome, Failure>) -> WriteOutcome {
        match done {
            Ok(PatchOutcome::Done(_)) => WriteOutcome::Done(None),
            Ok(PatchOutcome::Gone) => WriteOutcome::NotFound,
            Ok(PatchOutcome::Changed(_)) => {
                self.metrics.reconcile_error("Conflict");
                WriteOutcome::Conflict
            }
            Err(failure) => {
                self.failed(&failure);
                outcome(&failure)
            }
        }
    }

    /// Converts the answer to a write to facts.
    pub(super) fn answer(
        &self,
        ip: &IpName,
        write: Write,
        done: Result<PatchOutcome, Failure>,
    ) -> Completion {
        let mut facts = Vec::new();
        let mut newer = None;
        let outcome = match done {
            Ok(PatchOutcome::Done(object)) => {
                if let Write::ReportUnreadable { .. } = write {
                    newer = shown_ip(&object);
                }
                WriteOutcome::Done(self.written(&write, &object))
            }
            Ok(PatchOutcome::Gone) => WriteOutcome::NotFound,
            Ok(PatchOutcome::Changed(object)) => {
                self.metrics.reconcile_error("Conflict");
                if let Write::ReportUnreadable { .. } = write {
                    newer = shown_ip(&object);
                }
                WriteOutcome::Conflict
            }
            Err(failure) => {
                let outcome = outcome(&failure);
                if !matches!(
                    outcome,
                    WriteOutcome::NotFound | WriteOutcome::AlreadyExists
                ) {
                    self.failed_for(ip, &failure);
                }
                outcome
            }
        };
        facts.push(Fact::Wrote {
            ip: ip.clone(),
            write,
            outcome,
        });
        facts.extend(newer);
        facts.into()
    }

    /// The object after the write.
    fn written(&self, write: &Write, object: &DynamicObject) -> Option<Written> {
        match write {
            Write::Status { .. }
            | Write::AddFinalizer { .. }
            | Write::RemoveFinalizer { .. }
            | Write::DropTakeFrom { .. } => self.readable(read::ip(object)).map(Written::Ip),
            Write::Gate(_) | Write::Label { .. } => {
                self.readable(read::pod(object)).map(Written::Pod)
            }
            Write::Reserve { .. } | Write::RepairReservation { .. } => self
                .readable(read::reservation(object))
                .map(Written::Reservation),
            // The new object is reported by a separate fact.
            Write::Release(_) | Write::ReportUnreadable { .. } => None,
        }
    }

    pub(super) fn readable<T>(&self, read: Result<T, Unreadable>) -> Option<T> {
        read.map_err(|source| {
            self.failed(&Failure::Unreadable {
                doing: "reading an answer".to_owned(),
                source,
            });
        })
        .ok()
    }
}

/// The fact of an `IP` in an answer, whether it can be read or not.
fn shown_ip(object: &DynamicObject) -> Option<Fact> {
    match read::ip(object) {
        Ok(ip) => Some(Fact::Ip(ip)),
        Err(error) => read::unreadable_ip(object, chain(&error.problem)).map(Fact::IpUnreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::outcome;
    use crate::api::request::{REQUEST_TIMEOUT, RequestError};
    use crate::controller::error::Failure;
    use kube::core::Status;
    use mooring_plan::facts::WriteOutcome;

    fn outcome_of(code: u16, reason: &str) -> WriteOutcome {
        outcome_of_text(code, reason, "no")
    }

    fn outcome_of_text(code: u16, reason: &str, text: &str) -> WriteOutcome {
        let status = Status::failure(text, reason).with_code(code).boxed();
        outcome(&Failure::Request(RequestError::Api {
            doing: "writing".to_owned(),
            source: kube::Error::Api(status),
        }))
    }

    #[test]
    fn only_what_the_api_server_said_is_final() {
        assert_eq!(outcome_of(404, "NotFound"), WriteOutcome::NotFound);
        assert_eq!(
            outcome_of(409, "AlreadyExists"),
            WriteOutcome::AlreadyExists
        );
        assert_eq!(outcome_of(409, "Conflict"), WriteOutcome::Conflict);
        for code in [400, 403, 422] {
            assert_eq!(
                outcome_of(code, "Refused"),
                WriteOutcome::Refused("no".to_owned()),
                "{code}"
            );
        }
        for code in [429, 500, 503, 504] {
            assert_eq!(outcome_of(code, "Later"), WriteOutcome::Unknown, "{code}");
        }
        let late = Failure::Request(RequestError::Late {
            doing: "writing".to_owned(),
            limit: REQUEST_TIMEOUT,
        });
        assert_eq!(outcome(&late), WriteOutcome::Unknown);
    }

    #[test]
    fn a_write_whose_webhook_cannot_be_called_is_refused() {
        let text = "Internal error occurred: failed calling webhook \"x.example\": failed to call webhook: Post \
                    \"https://x.example/\": connect: connection refused";
        assert_eq!(
            outcome_of_text(500, "InternalError", text),
            WriteOutcome::Refused(text.to_owned())
        );
        // Whatever else the API server could not do, it may have written.
        let other = "Internal error occurred: etcdserver: request timed out";
        for (code, reason, text) in [
            (500, "InternalError", other),
            (500, "Unknown", text),
            (504, "InternalError", text),
        ] {
            let outcome = outcome_of_text(code, reason, text);
            assert_eq!(outcome, WriteOutcome::Unknown, "{code} {reason} {text}");
        }
    }
}
