//! Converts errors of the SDK.

use std::error::Error as StdError;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_smithy_http::endpoint::ResolveEndpointError;
use mooring_plan::facts::CallError;
use mooring_plan::outcome::{Action, Outcome};

use super::classify::{classify, code};
use super::sentence;
use crate::cloud::CloudError;

/// Converts an error of the SDK. `object` says what the call was made for.
pub(super) fn from_sdk<E>(
    action: Action,
    object: &str,
    error: SdkError<E, HttpResponse>,
) -> CloudError
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    let status = error
        .raw_response()
        .map(|response| response.status().as_u16());
    let code = code_of(&error);
    let message = match error
        .as_service_error()
        .and_then(ProvideErrorMetadata::message)
    {
        Some(message) => message.to_owned(),
        None => own_message(&code, status, &error),
    };
    // All other sentences contain the cause already.
    let has_source = code == code::TIMEOUT;
    let outcome = match (classify(action, &code, &message), status) {
        // EC2 also answers a throttled call with 503. Such a call was certainly not executed.
        (Outcome::Throttled, _) => Outcome::Throttled,
        (_, Some(500..)) => Outcome::Unknown,
        (outcome, _) => outcome,
    };
    CloudError {
        action,
        object: object.to_owned(),
        outcome,
        code,
        message,
        source: has_source.then(|| -> Box<dyn StdError + Send + Sync> { Box::new(error) }),
    }
}

impl CloudError {
    /// What the engine receives.
    #[must_use]
    pub fn call_error(&self) -> CallError {
        CallError {
            outcome: self.outcome,
            text: sentence::lasting_text(&self.code, &self.message, self.outcome),
            named: sentence::addresses(&self.message),
        }
    }
}

/// The error for an answer that lacks a part that every answer has.
pub(super) fn unreadable(action: Action, object: &str, message: impl Into<String>) -> CloudError {
    CloudError {
        action,
        object: object.to_owned(),
        outcome: Outcome::Unknown,
        code: code::UNREADABLE.to_owned(),
        message: message.into(),
        source: None,
    }
}

fn code_of<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: StdError + ProvideErrorMetadata + 'static,
{
    let ours = match error {
        SdkError::ServiceError(context) => match context.err().code() {
            Some(code) if !code.is_empty() => return code.to_owned(),
            _ if context.raw().status().as_u16() >= 500 => code::SERVER_ERROR,
            _ => code::UNREADABLE,
        },
        // If the credentials could not be loaded, the request was never sent, whatever the error was.
        _ if is_caused_by::<CredentialsError>(error) => code::NO_CREDENTIALS,
        SdkError::ConstructionFailure(_) => code::NOT_SENT,
        // Without an endpoint (for example because there is no region) there is nothing to send it to.
        _ if is_caused_by::<ResolveEndpointError>(error) => code::NOT_SENT,
        SdkError::TimeoutError(_) => code::TIMEOUT,
        SdkError::DispatchFailure(failure) if failure.is_timeout() => code::TIMEOUT,
        SdkError::ResponseError(_) => code::UNREADABLE,
        _ => code::CONNECTION,
    };
    ours.to_owned()
}

fn is_caused_by<C: StdError + 'static>(error: &(dyn StdError + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(<dyn StdError>::is::<C>)
}

fn own_message<E>(code: &str, status: Option<u16>, error: &SdkError<E, HttpResponse>) -> String
where
    E: StdError + 'static,
{
    match (code, status) {
        (code::TIMEOUT, _) => "no answer in time".to_owned(),
        (code::NO_CREDENTIALS, _) => {
            format!(
                "no credentials to sign the request with: {}",
                DisplayErrorContext(error)
            )
        }
        (_, Some(status)) => format!("HTTP {status}: {}", DisplayErrorContext(error)),
        (_, None) => DisplayErrorContext(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_ec2::operation::assign_private_ip_addresses::AssignPrivateIpAddressesError as Refused;

    use super::*;

    fn refused(status: u16, code: Option<&str>, message: Option<&str>) -> CloudError {
        let metadata = ErrorMetadata::builder();
        let metadata = match code {
            Some(code) => metadata.code(code),
            None => metadata,
        };
        let metadata = match message {
            Some(message) => metadata.message(message),
            None => metadata,
        };
        let response = HttpResponse::new(status.try_into().unwrap(), "".into());
        let error = SdkError::service_error(Refused::generic(metadata.build()), response);
        from_sdk(Action::Assign, "eni-1 (203.0.113.7)", error)
    }

    fn failed(error: SdkError<Refused, HttpResponse>) -> CloudError {
        from_sdk(Action::Assign, "eni-1 (203.0.113.7)", error)
    }

    #[test]
    fn a_refusal_keeps_its_code_and_sentence_and_names_the_object() {
        let error = refused(
            400,
            Some("InvalidParameterValue"),
            Some("[203.0.113.7] assigned, but move is not allowed."),
        );
        assert_eq!(error.outcome, Outcome::AssignedElsewhere);
        assert_eq!(
            error.to_string(),
            "ec2:AssignPrivateIpAddresses for eni-1 (203.0.113.7): InvalidParameterValue: [203.0.113.7] \
             assigned, but move is not allowed."
        );
    }

    #[test]
    fn the_message_of_ec2_is_once_in_a_log_line() {
        let sentence = "Request limit exceeded.";
        let error = refused(503, Some("RequestLimitExceeded"), Some(sentence));
        let line = crate::telemetry::chain(&error);
        assert_eq!(line.matches(sentence).count(), 1, "{line}");
        assert_eq!(line.matches("RequestLimitExceeded").count(), 1, "{line}");
    }

    #[test]
    fn throttling_is_recognized_with_any_http_status() {
        for status in [400, 503] {
            let error = refused(
                status,
                Some("RequestLimitExceeded"),
                Some("Request limit exceeded."),
            );
            assert_eq!(error.outcome, Outcome::Throttled, "HTTP {status}");
        }
    }

    #[test]
    fn a_server_error_may_have_been_executed_whatever_its_code() {
        for code in [
            None,
            Some("InternalError"),
            Some("InvalidParameterValue"),
            Some("Unavailable"),
        ] {
            let error = refused(500, code, None);
            assert_eq!(error.outcome, Outcome::Unknown, "{code:?}");
        }
        assert_eq!(refused(502, None, None).code, code::SERVER_ERROR);
    }

    #[test]
    fn an_answer_without_a_code_may_have_been_executed() {
        for status in [200, 400] {
            let error = refused(status, None, None);
            assert_eq!(
                (error.outcome, error.code.as_str()),
                (Outcome::Unknown, code::UNREADABLE)
            );
        }
    }

    #[test]
    fn no_answer_may_have_been_executed() {
        let timeout = failed(SdkError::timeout_error("slow"));
        assert_eq!(
            (timeout.outcome, timeout.code.as_str()),
            (Outcome::Unknown, code::TIMEOUT)
        );
        let late = failed(SdkError::dispatch_failure(ConnectorError::timeout(
            "slow".into(),
        )));
        assert_eq!(
            (late.outcome, late.code.as_str()),
            (Outcome::Unknown, code::TIMEOUT)
        );
        let lost = failed(SdkError::dispatch_failure(ConnectorError::io(
            "reset".into(),
        )));
        assert_eq!(
            (lost.outcome, lost.code.as_str()),
            (Outcome::Unknown, code::CONNECTION)
        );
    }

    #[test]
    fn a_request_that_was_never_sent_is_not_unknown() {
        let error = failed(SdkError::construction_failure("no region"));
        assert_eq!(
            (error.outcome, error.code.as_str()),
            (Outcome::Invalid, code::NOT_SENT)
        );
        let missing = CredentialsError::not_loaded("nothing in the environment");
        let error = failed(SdkError::dispatch_failure(ConnectorError::other(
            missing.into(),
            None,
        )));
        assert_eq!(
            (error.outcome, error.code.as_str()),
            (Outcome::Unauthenticated, code::NO_CREDENTIALS)
        );
        assert!(
            error.message.contains("nothing in the environment"),
            "{}",
            error.message
        );
    }
}
