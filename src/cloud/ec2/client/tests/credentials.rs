//! How long a call waits for credentials, with an STS that takes as long as a test says. The clock of tokio is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use aws_credential_types::provider::future;
use aws_sdk_ec2::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use tokio::time::Instant;

use super::{NEVER, Slow, assign, fast, subnet, with_credentials};
use crate::cloud::ec2::Ec2;
use crate::cloud::ec2::classify::code;

/// An STS that needs this time for each answer.
#[derive(Debug)]
struct Sts {
    takes: Duration,
    asked: Arc<AtomicUsize>,
}

impl ProvideCredentials for Sts {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        self.asked.fetch_add(1, Ordering::Relaxed);
        future::ProvideCredentials::new(async {
            tokio::time::sleep(self.takes).await;
            Ok(Credentials::new("test", "test", None, None, "the test"))
        })
    }
}

/// A client whose credentials take this time, the number of its requests to EC2, and that of its requests to STS.
fn with_sts(takes: Duration) -> (Ec2, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (slow, asked) = (fast(), Arc::<AtomicUsize>::default());
    let requests = Arc::clone(&slow.requests);
    let sts = SharedCredentialsProvider::new(Sts {
        takes,
        asked: Arc::clone(&asked),
    });
    (with_credentials(slow, sts), requests, asked)
}

#[tokio::test(start_paused = true)]
async fn without_a_way_to_sts_every_call_says_that_there_are_no_credentials() {
    let (ec2, requests, _) = with_sts(NEVER);
    let subnet = subnet();
    // All of them wait for the same credentials.
    let calls = futures::future::join_all((0..10).map(|_| assign(&ec2)));
    let (assigned, listed) = tokio::join!(calls, ec2.interfaces(&subnet));
    let errors = assigned.into_iter().map(Result::unwrap_err);
    for error in errors.chain([listed.unwrap_err()]) {
        assert_eq!(error.code, code::NO_CREDENTIALS, "{error}");
    }
    assert_eq!(requests.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn credentials_are_loaded_once_for_many_calls() {
    let (ec2, requests, asked) = with_sts(Duration::from_secs(1));
    for _ in 0..3 {
        assign(&ec2).await.unwrap();
    }
    assert_eq!(requests.load(Ordering::Relaxed), 3);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_take_longer_than_a_call_may_wait_are_there_for_a_later_call() {
    let (ec2, requests, asked) = with_sts(Duration::from_secs(2));
    let error = assign(&ec2).await.unwrap_err();
    assert_eq!(error.code, code::NO_CREDENTIALS, "{error}");
    assign(&ec2).await.unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 1);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_load_of_credentials_that_hangs_is_begun_again() {
    let (ec2, _, asked) = with_sts(NEVER);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        assert_eq!(assign(&ec2).await.unwrap_err().code, code::NO_CREDENTIALS);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// A metadata service that gave credentials before, and does not answer any more.
#[derive(Debug)]
struct Silent;

impl ProvideCredentials for Silent {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(std::future::pending())
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        Some(Credentials::new("test", "test", None, None, "the test"))
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_provider_is_silent_its_earlier_credentials_are_used() {
    let ec2 = with_credentials(fast(), SharedCredentialsProvider::new(Silent));
    assign(&ec2).await.unwrap();
}

/// A metadata service that answers after a second, and whose earlier credentials have expired.
#[derive(Debug)]
struct Expired;

impl ProvideCredentials for Expired {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Credentials::new("new", "test", None, None, "the test"))
        })
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        let end = Some(SystemTime::UNIX_EPOCH);
        Some(Credentials::new("earlier", "test", None, end, "the test"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_longer_for_new_credentials_if_the_earlier_ones_have_expired() {
    let ec2 = with_credentials(fast(), SharedCredentialsProvider::new(Expired));
    let begun = Instant::now();
    assign(&ec2).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_silent_provider_leaves_a_read_the_time_that_ec2_needs() {
    let slow = Slow {
        takes: |_| Duration::from_millis(1500),
        ..fast()
    };
    let answers = Arc::clone(&slow.answers);
    let ec2 = with_credentials(slow, SharedCredentialsProvider::new(Silent));
    // The answer has no subnet, but it arrives.
    ec2.subnet(&subnet()).await.unwrap_err();
    assert_eq!(answers.load(Ordering::Relaxed), 1);
}
