use std::time::Duration;

use ec2_emulator::front::buckets::{Bucket, Size, TokenBuckets};
use ec2_emulator::wire::Action;
use serde_json::json;

use crate::client::{ADDRESS, error_of, server};

fn narrowed(action: Action) -> Bucket {
    Bucket {
        action,
        narrowed: true,
    }
}

/// The number of consecutive calls that are allowed at this time.
fn drain(buckets: &mut TokenBuckets, bucket: Bucket, now: Duration) -> usize {
    (0..1000).take_while(|_| buckets.draw(bucket, now)).count()
}

#[test]
fn of_the_size_and_the_refill_that_aws_documents() {
    let second = Duration::from_secs(1);
    let wide = |action| Bucket {
        action,
        narrowed: false,
    };
    for (bucket, size, refill) in [
        (narrowed(Action::AssignPrivateIpAddresses), 100, 5),
        (narrowed(Action::UnassignPrivateIpAddresses), 100, 5),
        (narrowed(Action::DescribeNetworkInterfaces), 100, 20),
        (narrowed(Action::DescribeInstances), 100, 20),
        (wide(Action::DescribeSubnets), 100, 20),
        (wide(Action::DescribeNetworkInterfaces), 50, 10),
        (wide(Action::DescribeInstances), 50, 10),
        (narrowed(Action::CreateTags), 100, 10),
    ] {
        let mut buckets = TokenBuckets::default();
        assert_eq!(drain(&mut buckets, bucket, second), size, "{bucket:?}");
        assert_eq!(
            drain(&mut buckets, bucket, second * 2),
            refill,
            "{bucket:?}"
        );
        assert_eq!(
            drain(&mut buckets, bucket, second * 3600),
            size,
            "{bucket:?}"
        );
    }
}

#[test]
fn of_its_own() {
    let mut buckets = TokenBuckets::default();
    let now = Duration::ZERO;
    drain(
        &mut buckets,
        narrowed(Action::AssignPrivateIpAddresses),
        now,
    );
    assert!(!buckets.draw(narrowed(Action::AssignPrivateIpAddresses), now));
    assert!(buckets.draw(narrowed(Action::UnassignPrivateIpAddresses), now));
}

#[test]
fn frequent_requests_do_not_stop_the_refill() {
    let mut buckets = TokenBuckets::default();
    let bucket = narrowed(Action::AssignPrivateIpAddresses);
    drain(&mut buckets, bucket, Duration::ZERO);
    // 5 per second is one each 200 ms, no matter how many calls come in between.
    let through: Vec<u64> = (1..=1000)
        .map(|tick| tick * 700)
        .filter(|micros| buckets.draw(bucket, Duration::from_micros(*micros)))
        .collect();
    assert_eq!(through.len(), 3, "{through:?}");
}

#[test]
fn an_emptied_bucket_refills_from_zero() {
    let mut buckets = TokenBuckets::default();
    let (bucket, second) = (
        narrowed(Action::AssignPrivateIpAddresses),
        Duration::from_secs(1),
    );
    buckets.leave(bucket.action, 0, second);
    assert_eq!(drain(&mut buckets, bucket, second), 0);
    assert_eq!(drain(&mut buckets, bucket, second * 3), 10);
    let others = narrowed(Action::UnassignPrivateIpAddresses);
    assert_eq!(drain(&mut buckets, others, second), 100);
    // A bucket never has more than its size.
    buckets.leave(bucket.action, 1000, second * 3);
    assert_eq!(drain(&mut buckets, bucket, second * 3), 100);
}

#[tokio::test]
async fn a_test_empties_a_bucket_while_it_runs() {
    let server = server().await;
    let tokens = json!({ "tokens": { "AssignPrivateIpAddresses": 0 } });
    server.post("settings", &tokens).await;
    let refused = error_of(server.assign(&server.a, ADDRESS).await);
    assert_eq!(refused, (503, "RequestLimitExceeded".to_owned()));
}

#[tokio::test]
async fn an_empty_bucket_answers_503_and_executes_nothing() {
    let server = server().await;
    let sizes = json!({ "AssignPrivateIpAddresses": Size { size: 2, refill_per_second: 0 } });
    server
        .post("settings", &json!({ "bucket_sizes": sizes }))
        .await;
    for last in [50, 51] {
        let address = format!("10.0.0.{last}");
        assert_eq!(server.assign(&server.a, &address).await.unwrap().0, 200);
    }
    let refused = error_of(server.assign(&server.a, ADDRESS).await);
    assert_eq!(refused, (503, "RequestLimitExceeded".to_owned()));
    assert!(server.holders(ADDRESS).await.is_empty());

    server
        .post("settings", &json!({ "token_buckets": false }))
        .await;
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
}
