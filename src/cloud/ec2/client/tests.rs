//! The time limits of calls, and calls that are not sent, with an EC2 that takes as long as a test says. The clock of
//! tokio is paused.

mod credentials;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ec2::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{InterfaceId, SubnetId};
use mooring_plan::outcome::Outcome;
use tokio::time::Instant;

use super::{ATTEMPT_TIMEOUT, CALL_LIMIT, Ec2};
use crate::cloud::CloudError;
use crate::cloud::ec2::classify::code;
use crate::metrics::Metrics;

const NEVER: Duration = Duration::from_hours(1);

/// Answers the nth request after the time for this request: if it lists interfaces, with the nth page.
#[derive(Clone)]
struct Slow {
    takes: fn(usize) -> Duration,
    /// How many pages the list has.
    pages: usize,
    requests: Arc<AtomicUsize>,
    answers: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slow")
    }
}

impl HttpConnector for Slow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let slow = self.clone();
        let action = action(&request);
        HttpConnectorFuture::new(async move {
            let nth = slow.requests.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep((slow.takes)(nth)).await;
            let page = slow.answers.fetch_add(1, Ordering::Relaxed) + 1;
            let next = if page < slow.pages {
                format!("<nextToken>{page}</nextToken>")
            } else {
                String::new()
            };
            let text = format!("<{action}Response><networkInterfaceSet/>{next}</{action}Response>");
            Ok(HttpResponse::new(200.try_into().unwrap(), text.into()))
        })
    }
}

/// The action of a request, which its answer names.
fn action(request: &HttpRequest) -> String {
    let body = request.body().bytes().unwrap();
    let fields = std::str::from_utf8(body).unwrap().split('&');
    let mut actions = fields.filter_map(|field| field.strip_prefix("Action="));
    actions.next().unwrap().to_owned()
}

/// A client of an EC2 that takes this time for the nth request, and the number of its requests.
fn ec2(pages: usize, takes: fn(usize) -> Duration) -> (Ec2, Arc<AtomicUsize>) {
    let requests = Arc::<AtomicUsize>::default();
    let slow = Slow {
        takes,
        pages,
        requests: Arc::clone(&requests),
        answers: Arc::default(),
    };
    (with_credentials(slow, keys()), requests)
}

fn keys() -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "the test"))
}

/// An EC2 that answers at once.
fn fast() -> Slow {
    Slow {
        takes: |_| Duration::ZERO,
        pages: 1,
        requests: Arc::default(),
        answers: Arc::default(),
    }
}

fn with_credentials(slow: Slow, credentials: SharedCredentialsProvider) -> Ec2 {
    let config = config(
        Some("eu-central-1"),
        Some("http://ec2.test"),
        slow,
        credentials,
    );
    Ec2::new(&config, Metrics::new())
}

fn config(
    region: Option<&'static str>,
    endpoint: Option<&str>,
    slow: Slow,
    credentials: SharedCredentialsProvider,
) -> SdkConfig {
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(region.map(Region::from_static))
        .credentials_provider(credentials)
        .http_client(http_client_fn(move |_, _| {
            SharedHttpConnector::new(slow.clone())
        }));
    config.set_endpoint_url(endpoint.map(str::to_owned));
    config.build()
}

fn subnet() -> SubnetId {
    SubnetId::new("subnet-1")
}

fn interface() -> InterfaceId {
    InterfaceId::new("eni-1")
}

fn addresses() -> [Address; 1] {
    ["203.0.113.7".parse().unwrap()]
}

async fn assign(ec2: &Ec2) -> Result<(), CloudError> {
    ec2.assign(&interface(), &addresses(), Reassign::Refuse)
        .await
}

#[tokio::test(start_paused = true)]
async fn an_inventory_is_complete_although_each_page_takes_longer_than_an_attempt() {
    let (ec2, requests) = ec2(3, |_| Duration::from_secs(8));
    assert_eq!(ec2.interfaces(&subnet()).await.unwrap(), []);
    // Only the first page is cut off: the others have more time from the start.
    let cut_off = requests.load(Ordering::Relaxed) - 3;
    assert!((1..=3).contains(&cut_off), "{cut_off}");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_is_left_after_the_usual_time() {
    let (ec2, requests) = ec2(1, |nth| match nth {
        0 => NEVER,
        _ => Duration::ZERO,
    });
    let begun = Instant::now();
    assert_eq!(ec2.interfaces(&subnet()).await.unwrap(), []);
    assert_eq!(requests.load(Ordering::Relaxed), 2);
    let took = begun.elapsed();
    assert!(ATTEMPT_TIMEOUT <= took && took < CALL_LIMIT, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_no_list_of_interfaces_end_within_five_seconds() {
    let (ec2, requests) = ec2(1, |_| NEVER);
    let begun = Instant::now();
    assert_eq!(ec2.subnet(&subnet()).await.unwrap_err().code, "Timeout");
    assert!(begun.elapsed() <= CALL_LIMIT, "{:?}", begun.elapsed());
    let (begun, before) = (Instant::now(), requests.load(Ordering::Relaxed));
    assert_eq!(assign(&ec2).await.unwrap_err().code, "Timeout");
    assert_eq!(begun.elapsed(), CALL_LIMIT);
    assert_eq!(requests.load(Ordering::Relaxed), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_mutating_call_that_takes_longer_than_an_attempt_of_others_is_done() {
    let (ec2, requests) = ec2(1, |_| Duration::from_secs(3));
    assign(&ec2).await.unwrap();
    ec2.unassign(&interface(), &addresses()).await.unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[test]
fn without_a_region_there_is_no_client() {
    let client = |region| {
        let config = config(region, None, fast(), keys());
        Ec2::with_region(&config, Metrics::new())
    };
    assert!(client(None).is_none());
    assert!(client(Some("")).is_none(), "an empty variable");
    assert!(client(Some("eu-central-1")).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_endpoint_was_not_sent_and_says_why() {
    let slow = fast();
    let requests = Arc::clone(&slow.requests);
    let ec2 = Ec2::new(&config(None, None, slow, keys()), Metrics::new());
    let error = assign(&ec2).await.unwrap_err();
    assert_eq!(
        (error.outcome, error.code.as_str()),
        (Outcome::Invalid, code::NOT_SENT)
    );
    assert!(error.message.contains("Missing Region"), "{error}");
    assert_eq!(requests.load(Ordering::Relaxed), 0);
}
