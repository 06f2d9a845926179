//! Calls that fail.

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, future};
use mooring::cloud::ec2::Ec2;
use mooring::cloud::ec2::classify::code;
use mooring::metrics::Metrics;
use mooring_plan::address::Address;
use mooring_plan::cloud::Reassign;
use mooring_plan::names::{InstanceId, InstanceType, InterfaceId, SubnetId};
use mooring_plan::outcome::{Action, Outcome};
use serde_json::json;

use crate::world::{World, address, config, keys, refused};

/// A credentials provider that has no credentials.
#[derive(Debug)]
struct NoCredentials;

impl ProvideCredentials for NoCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::ready(Err(CredentialsError::not_loaded(
            "nothing in the environment",
        )))
    }
}

#[tokio::test]
async fn refusals_are_classified() {
    let world = World::start("refusals").await;
    let [first, second] = [&world.interfaces[0], &world.interfaces[1]];
    let assign = async |interface: &InterfaceId, addresses: &[Address], reassign| {
        refused(world.ec2.assign(interface, addresses, reassign).await).0
    };
    let unassign = async |address| refused(world.ec2.unassign(first, &[address]).await).0;
    world
        .ec2
        .assign(second, &[address(20)], Reassign::Refuse)
        .await
        .unwrap();
    assert_eq!(
        assign(first, &[address(20)], Reassign::Refuse).await,
        Outcome::AssignedElsewhere
    );
    let interfaces = world.ec2.interfaces(&world.subnet).await.unwrap();
    let primary = |id: &InterfaceId| {
        interfaces
            .iter()
            .find(|found| found.id == *id)
            .unwrap()
            .primary
            .unwrap()
    };
    assert_eq!(
        assign(first, &[primary(second)], Reassign::Allow).await,
        Outcome::Primary
    );
    assert_eq!(
        assign(first, &[address(200)], Reassign::Refuse).await,
        Outcome::NotInSubnet
    );
    assert_eq!(
        assign(first, &[address(1)], Reassign::Refuse).await,
        Outcome::ReservedByAws
    );
    let many: Vec<_> = (30..36).map(address).collect();
    assert_eq!(
        assign(first, &many, Reassign::Refuse).await,
        Outcome::NoRoom
    );
    let gone = InterfaceId::from("eni-0123456789abcdef0");
    assert_eq!(
        assign(&gone, &[address(20)], Reassign::Refuse).await,
        Outcome::InterfaceNotFound
    );
    assert_eq!(unassign(address(20)).await, Outcome::Done);
    assert_eq!(unassign(primary(first)).await, Outcome::Primary);
    let unknown = InstanceId::from("i-0123456789abcdef0");
    assert_eq!(
        refused(world.ec2.instance(&unknown).await).0,
        Outcome::InstanceNotFound
    );
    let unknown = SubnetId::from("subnet-0123456789abcdef0");
    assert_eq!(
        refused(world.ec2.subnet(&unknown).await).0,
        Outcome::SubnetNotFound
    );
    let types = ["t3.medium", "z9.huge"].map(InstanceType::from);
    assert_eq!(
        refused(world.ec2.address_limits(&types).await),
        (Outcome::Invalid, "InvalidInstanceType".to_owned()),
        "one that it does not know, and none is answered"
    );
    assert_eq!(world.holder(address(20)).await.as_ref(), Some(second));
}

#[tokio::test]
async fn a_change_is_never_sent_twice_by_the_sdk() {
    let world = World::start("once").await;
    let interface = &world.interfaces[0];
    let faults = [
        (json!({"kind": "drop_before"}), Outcome::Unknown),
        (json!({"kind": "drop_after"}), Outcome::Unknown),
        (
            json!({"kind": "error", "code": "InternalError"}),
            Outcome::Unknown,
        ),
        (
            json!({"kind": "error", "code": "Unavailable", "status": 503}),
            Outcome::Unknown,
        ),
        (json!({"kind": "throttle"}), Outcome::Throttled),
        (
            json!({"kind": "error", "code": "UnauthorizedOperation", "status": 403}),
            Outcome::Denied,
        ),
        (json!({"kind": "delay", "ms": 60_000}), Outcome::Unknown),
    ];
    for (round, (mut fault, outcome)) in faults.into_iter().enumerate() {
        fault["action"] = json!(Action::Assign.name());
        world.fault(fault.clone()).await;
        let last = 20 + u8::try_from(round).unwrap();
        let before = world.calls(Action::Assign).await;
        let result = world
            .ec2
            .assign(interface, &[address(last)], Reassign::Refuse)
            .await;
        assert_eq!(refused(result).0, outcome, "{fault}");
        // A call that was dropped or still waits may not be counted, so 0 is allowed. Two calls would be a retry.
        let sent = world.calls(Action::Assign).await - before;
        assert!(sent <= 1, "{fault}: {sent} calls");
        if fault["kind"] == "drop_after" {
            assert_eq!(
                world.holder(address(last)).await.as_ref(),
                Some(interface),
                "it was executed"
            );
            world
                .ec2
                .unassign(interface, &[address(last)])
                .await
                .unwrap();
        }
    }
    let text = world.metrics.encode().unwrap();
    for code in [
        "Timeout",
        "ConnectionLost",
        "InternalError",
        "RequestLimitExceeded",
    ] {
        let line = format!(
            "mooring_ec2_requests_total{{action=\"AssignPrivateIpAddresses\",code=\"{code}\"}}"
        );
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn a_read_is_repeated_by_the_sdk() {
    let world = World::start("again").await;
    world.fault(json!({"kind": "error", "code": "InternalError", "action": "DescribeNetworkInterfaces"})).await;
    assert_eq!(world.ec2.interfaces(&world.subnet).await.unwrap().len(), 4);
}

#[tokio::test]
async fn missing_credentials_or_listener_are_reported() {
    let without_credentials = config("http://127.0.0.1:9", NoCredentials);
    let error = Ec2::new(&without_credentials, Metrics::new())
        .assign(
            &InterfaceId::from("eni-1"),
            &[address(20)],
            Reassign::Refuse,
        )
        .await
        .unwrap_err();
    assert_eq!(
        (error.outcome, error.code.as_str()),
        (Outcome::Unauthenticated, code::NO_CREDENTIALS),
        "{error:?}"
    );
    let nowhere = config("http://127.0.0.1:9", keys());
    let error = Ec2::new(&nowhere, Metrics::new())
        .assign(
            &InterfaceId::from("eni-1"),
            &[address(20)],
            Reassign::Refuse,
        )
        .await
        .unwrap_err();
    assert_eq!(
        (error.outcome, error.code.as_str()),
        (Outcome::Unknown, code::CONNECTION),
        "{error:?}"
    );
}
