use std::time::Duration;

use ec2_emulator::front::lag::Snapshots;
use ec2_emulator::state::Ec2;
use ec2_emulator::state::objects::Tags;
use ec2_emulator::state::request::Change;
use serde_json::json;

use crate::client::{ADDRESS, element_of, server};

fn with_vpcs(count: usize) -> Ec2 {
    let mut ec2 = Ec2::default();
    for _ in 0..count {
        let cidr = "10.0.0.0/16".parse().unwrap();
        ec2.change(Change::CreateVpc {
            cidr,
            tags: Tags::new(),
        })
        .unwrap();
    }
    ec2
}

#[test]
fn by_exactly_the_lag() {
    let ms = Duration::from_millis;
    let mut snapshots = Snapshots::default();
    let lag = ms(100);
    snapshots.record(ms(1000), lag, &with_vpcs(1));
    snapshots.record(ms(1050), lag, &with_vpcs(2));
    assert_eq!(*snapshots.seen(ms(1060), lag), with_vpcs(0));
    assert_eq!(*snapshots.seen(ms(1099), lag), with_vpcs(0));
    assert_eq!(*snapshots.seen(ms(1100), lag), with_vpcs(1));
    assert_eq!(*snapshots.seen(ms(1149), lag), with_vpcs(1));
    assert_eq!(*snapshots.seen(ms(1150), lag), with_vpcs(2));
    assert_eq!(*snapshots.seen(ms(1150), ms(0)), with_vpcs(2));
}

#[test]
fn a_higher_lag_keeps_what_was_seen() {
    let ms = Duration::from_millis;
    let mut snapshots = Snapshots::default();
    snapshots.record(ms(1000), ms(0), &with_vpcs(1));
    assert_eq!(*snapshots.seen(ms(1000), ms(0)), with_vpcs(1));
    assert_eq!(*snapshots.seen(ms(1001), ms(500)), with_vpcs(1));
    snapshots.record(ms(1100), ms(500), &with_vpcs(2));
    assert_eq!(*snapshots.seen(ms(1599), ms(500)), with_vpcs(1));
    assert_eq!(*snapshots.seen(ms(1600), ms(500)), with_vpcs(2));
}

#[tokio::test]
async fn the_rules_do_not_lag() {
    let server = server().await;
    // A lag that is longer than the test, so no change is ever shown.
    server
        .post("settings", &json!({ "lag_ms": 3_600_000 }))
        .await;
    let describe = format!(
        "Action=DescribeNetworkInterfaces&Filter.1.Name=private-ip-address&Filter.1.Value.1={ADDRESS}"
    );
    assert_eq!(server.assign(&server.a, ADDRESS).await.unwrap().0, 200);
    let (_, seen) = server.call(&describe).await.unwrap();
    assert!(!seen.contains(&server.a), "{seen}");
    assert_eq!(
        server.assign(&server.b, ADDRESS).await.unwrap().0,
        400,
        "the fence holds at once"
    );

    server.post("settings", &json!({ "lag_ms": 0 })).await;
    let (_, seen) = server.call(&describe).await.unwrap();
    assert_eq!(element_of(&seen, "networkInterfaceId"), server.a);
}
