//! The answers of EC2, from HTTP status and body: an answer that is not clearly a success or a refusal is unknown, and
//! a missing part of an answer never means that an object does not exist.

use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use mooring::cloud::CloudError;
use mooring::cloud::ec2::Ec2;
use mooring::cloud::ec2::classify::{classify, code};
use mooring::metrics::Metrics;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{InstanceId, InstanceType, InterfaceId, SubnetId};
use mooring_plan::outcome::{Action, Outcome};

use crate::wait;

/// The first line of the input is the call and the HTTP status (`Assign 400`), the rest is the body.
pub fn failure(data: &[u8]) {
    let _ = outcome(data);
}

/// The same, and returns the outcome of the answer. None for a success.
#[must_use]
pub fn outcome(data: &[u8]) -> Option<Outcome> {
    let (line, body) = match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &b""[..]),
    };
    let line = String::from_utf8_lossy(line);
    let (name, status) = line.split_once(' ').unwrap_or((&line, ""));
    let action = Action::ALL
        .into_iter()
        .find(|action| format!("{action:?}") == name);
    let action = action.unwrap_or(Action::Assign);
    let status = status
        .trim()
        .parse()
        .ok()
        .filter(|status| (200..600).contains(status));
    let status: u16 = status.unwrap_or(400);
    match ask(action, status, body) {
        Ok(()) => {
            assert!(status < 300, "HTTP {status} is no success of {action}");
            None
        }
        Err(error) => {
            judge(action, status, body, &error);
            Some(error.outcome)
        }
    }
}

fn judge(action: Action, status: u16, body: &[u8], error: &CloudError) {
    let (outcome, error_text) = (error.outcome, error.to_string());
    assert_eq!(error.action, action);
    assert!(
        !error.code.is_empty() && error_text.contains(&error.code),
        "{error_text}"
    );
    assert!(
        error_text.contains("-1") || action == Action::DescribeInstanceTypes,
        "names no object: {error_text}"
    );
    // A call that EC2 can have executed, or an unreadable answer, never counts as a refusal.
    if status >= 500 {
        assert!(
            matches!(outcome, Outcome::Unknown | Outcome::Throttled),
            "{outcome}: {error_text}"
        );
    }
    if status < 300 {
        assert_eq!(
            (outcome, error.code.as_str()),
            (Outcome::Unknown, code::UNREADABLE),
            "{error_text}"
        );
    }
    if !is_known(&error.code) {
        assert_eq!(outcome, Outcome::Unknown, "{error_text}");
    }
    // The deciding text must be in the answer.
    let text = String::from_utf8_lossy(body);
    if outcome != Outcome::Unknown && !text.contains('&') && !text.contains("<!") {
        assert!(
            text.contains(&error.code),
            "{outcome}: {error_text}\n{text}"
        );
    }
    let words = |words: &[&str]| {
        let message = error.message.to_ascii_lowercase();
        words.iter().any(|words| message.contains(words))
    };
    match outcome {
        Outcome::Done => {
            assert_eq!(
                (action, error.code.as_str()),
                (Action::Unassign, "InvalidParameterValue")
            );
            assert!(
                words(&["not assigned", "not associated", "not on interface"]),
                "{error_text}"
            );
            assert!(!words(&["primary"]), "{error_text}");
        }
        Outcome::AssignedElsewhere
        | Outcome::NoRoom
        | Outcome::NotInSubnet
        | Outcome::ReservedByAws => {
            assert_eq!(action, Action::Assign, "{error_text}");
        }
        Outcome::Primary => assert!(
            action.mutates() && words(&["primary", "secondary"]),
            "{error_text}"
        ),
        _ => {}
    }
    // The code and the message alone give the same outcome.
    if (300..500).contains(&status) {
        assert_eq!(
            classify(action, &error.code, &error.message),
            outcome,
            "{error_text}"
        );
    }
}

/// An independent copy of the codes that say that nothing was done (EC2 API reference, "Error codes").
fn is_known(code: &str) -> bool {
    const WORDS: [&str; 28] = [
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "EC2ThrottledException",
        "TooManyRequestsException",
        "SlowDown",
        "UnauthorizedOperation",
        "AuthFailure",
        "AccessDenied",
        "AccessDeniedException",
        "Blocked",
        "OptInRequired",
        "PendingVerification",
        "UnrecognizedClientException",
        "SignatureDoesNotMatch",
        "IncompleteSignature",
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "PrivateIpAddressLimitExceeded",
        "Resource.AlreadyAssigned",
        "OperationNotPermitted",
        "UnknownParameter",
        "UnsupportedOperation",
        "DryRunOperation",
    ];
    let code = code.strip_prefix("Client.").unwrap_or(code);
    let begins = ["Invalid", "Missing"]
        .iter()
        .any(|word| code.starts_with(word));
    let others = [
        "IncorrectInstanceState",
        "IncorrectState",
        "ValidationError",
    ];
    begins || WORDS.contains(&code) || others.contains(&code)
}

/// Makes the call, and checks that a success covers the request.
fn ask(action: Action, status: u16, body: &[u8]) -> Result<(), CloudError> {
    let ec2 = Ec2::new(&configuration(status, body), Metrics::new());
    let (interface, subnet) = (InterfaceId::from("eni-1"), SubnetId::from("subnet-1"));
    let (instance, kind) = (InstanceId::from("i-1"), InstanceType::from("m5.large"));
    let addresses = ["203.0.113.7".parse().unwrap()];
    wait(async {
        match action {
            Action::Assign => ec2.assign(&interface, &addresses, Reassign::Refuse).await?,
            Action::Unassign => ec2.unassign(&interface, &addresses).await?,
            Action::DescribeInterfaces => {
                let got = ec2.interfaces(&subnet).await?;
                assert!(got.iter().all(|interface| {
                    interface
                        .primary
                        .is_none_or(|own| interface.addresses.contains(&own))
                }));
            }
            Action::DescribeInstances => {
                ec2.instance(&instance).await?;
            }
            Action::DescribeInstanceStatus => {
                ec2.impaired_since(&instance).await?;
            }
            Action::DescribeInstanceTypes => {
                let got = ec2.address_limits(std::slice::from_ref(&kind)).await?;
                assert!(got.contains_key(&kind));
            }
            Action::DescribeSubnets => {
                assert!(!ec2.subnet(&subnet).await?.cidrs.is_empty());
            }
        }
        Ok(())
    })
}

/// An EC2 that always gives the same answer.
#[derive(Clone, Debug)]
struct Parrot {
    status: u16,
    body: Vec<u8>,
    /// The number of calls: a page whose token leads to itself must not cause endless calls.
    asked: Arc<Mutex<u32>>,
}

impl HttpConnector for Parrot {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        assert!(*asked < 20, "it is asked again and again");
        let status = self.status.try_into().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(
            status,
            SdkBody::from(self.body.clone()),
        )))
    }
}

impl HttpClient for Parrot {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn configuration(status: u16, body: &[u8]) -> SdkConfig {
    let credentials = Credentials::new("fuzz", "fuzz", None, None, "fuzz");
    let parrot = Parrot {
        status,
        body: body.to_vec(),
        asked: Arc::default(),
    };
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-north-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .sleep_impl(TokioSleep::new())
        .http_client(parrot)
        .build()
}
