//! Calls that succeed.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{Filter, Tag};
use mooring_cluster::http_post;
use mooring_plan::cloud::{CniUse, InstanceState, Reassign, Subnet};
use mooring_plan::names::{InstanceId, InstanceType, SubnetId};
use mooring_plan::outcome::{Action, Outcome};
use serde_json::json;

use crate::world::{World, address, refused};

#[tokio::test]
async fn an_address_is_assigned_found_moved_and_unassigned() {
    let world = World::start("life").await;
    let [first, second] = [&world.interfaces[0], &world.interfaces[1]];
    world
        .ec2
        .assign(first, &[address(20), address(21)], Reassign::Refuse)
        .await
        .unwrap();
    world
        .ec2
        .assign(first, &[address(20)], Reassign::Refuse)
        .await
        .unwrap();
    assert_eq!(world.holder(address(20)).await.as_ref(), Some(first));
    world
        .ec2
        .assign(second, &[address(20)], Reassign::Allow)
        .await
        .unwrap();
    assert_eq!(world.holder(address(20)).await.as_ref(), Some(second));
    assert_eq!(world.holder(address(21)).await.as_ref(), Some(first));
    world.ec2.unassign(second, &[address(20)]).await.unwrap();
    assert_eq!(world.holder(address(20)).await, None);
    assert_eq!(world.calls(Action::Assign).await, 3);
}

#[tokio::test]
async fn an_interface_is_read_with_all_needed_fields() {
    let world = World::start("interface").await;
    let [id, instance] = [
        world.interfaces[0].to_string(),
        world.instances[0].to_string(),
    ];
    world
        .ec2
        .assign(&world.interfaces[0], &[address(20)], Reassign::Refuse)
        .await
        .unwrap();
    let interfaces = world.ec2.interfaces(&world.subnet).await.unwrap();
    assert_eq!(
        interfaces.len(),
        4,
        "a first and a second interface of two instances"
    );
    let found = interfaces
        .iter()
        .find(|interface| interface.id.as_str() == id)
        .unwrap();
    assert_eq!(found.subnet, world.subnet);
    assert_eq!(found.instance, Some(InstanceId::from(instance.as_str())));
    assert!(found.attached);
    assert_eq!(found.device_index, Some(1));
    assert!(found.prefixes.is_empty());
    assert_eq!(found.tags["node.k8s.amazonaws.com/no_manage"], "true");
    let primary = found.primary.unwrap();
    assert!(found.addresses.contains(&primary) && found.addresses.contains(&address(20)));
    assert_eq!(found.addresses.len(), 2);
    let first = interfaces.iter().find(|interface| {
        interface.device_index == Some(0) && interface.instance == found.instance
    });
    assert!(first.is_some(), "{interfaces:?}");
}

#[tokio::test]
async fn a_delegated_prefix_is_read_and_an_address_of_it_is_refused() {
    let world = World::start("prefixes").await;
    let [one, other] = [&world.interfaces[0], &world.interfaces[1]];
    let delegate = world.sdk.assign_private_ip_addresses();
    let delegate = delegate.network_interface_id(one.as_str());
    let delegated = delegate.ipv4_prefixes("203.0.113.32/28").send().await;
    let delegated = delegated.unwrap();
    let prefixes = delegated.assigned_ipv4_prefixes();
    assert_eq!(prefixes[0].ipv4_prefix(), Some("203.0.113.32/28"));
    let interfaces = world.ec2.interfaces(&world.subnet).await.unwrap();
    let found = interfaces.iter().find(|interface| &interface.id == one);
    let found = found.unwrap();
    assert_eq!(found.prefixes, ["203.0.113.32/28".parse().unwrap()]);
    assert_eq!(found.addresses.len(), 1, "none of its addresses by itself");
    let within = [address(40)];
    let refusal = world.ec2.assign(other, &within, Reassign::Refuse).await;
    assert_eq!(refused(refusal).0, Outcome::AssignedElsewhere);
    let take_off = world.sdk.unassign_private_ip_addresses();
    let take_off = take_off.network_interface_id(one.as_str());
    let answer = take_off.ipv4_prefixes("203.0.113.32/28").send().await;
    answer.unwrap();
    let assigned = world.ec2.assign(other, &within, Reassign::Refuse).await;
    assigned.unwrap();
    assert_eq!(world.holder(address(40)).await.as_ref(), Some(other));
}

#[tokio::test]
async fn other_described_objects_are_read() {
    let world = World::start("described").await;
    let cidrs = vec!["203.0.113.0/25".parse().unwrap()];
    let seen = world.ec2.subnet(&world.subnet).await.unwrap();
    assert_eq!(seen, Subnet::untagged(cidrs));
    let tag = Tag::builder().key("kubernetes.io/role/cni").value("0");
    let tagging = world.sdk.create_tags().resources(world.subnet.as_str());
    tagging.tags(tag.build()).send().await.unwrap();
    let seen = world.ec2.subnet(&world.subnet).await.unwrap();
    assert_eq!(seen.cni, CniUse::Excluded);
    let interfaces = world.ec2.interfaces(&world.subnet).await.unwrap();
    let macs: BTreeSet<_> = interfaces
        .iter()
        .map(|interface| interface.mac.clone())
        .collect();
    assert_eq!(macs.len(), interfaces.len(), "{macs:?}");
    assert!(!macs.contains(&None), "{macs:?}");
    let stop = world
        .sdk
        .stop_instances()
        .instance_ids(world.instances[1].as_str());
    stop.send().await.unwrap();
    let running = world.ec2.instance(&world.instances[0]).await.unwrap();
    assert_eq!(running, InstanceState::Running);
    let stopped = world.ec2.instance(&world.instances[1]).await.unwrap();
    assert!(stopped.is_ending(), "{stopped:?}");
    let types = ["t3.medium", "m5.large"].map(InstanceType::from);
    let limits = world.ec2.address_limits(&types).await.unwrap();
    assert_eq!(
        limits.into_values().collect::<Vec<_>>(),
        [10, 6],
        "m5.large, t3.medium"
    );
}

#[tokio::test]
async fn an_empty_request_causes_no_call() {
    let world = World::start("nothing").await;
    world
        .ec2
        .assign(&world.interfaces[0], &[], Reassign::Allow)
        .await
        .unwrap();
    world.ec2.unassign(&world.interfaces[0], &[]).await.unwrap();
    assert!(world.ec2.address_limits(&[]).await.unwrap().is_empty());
    for action in Action::ALL {
        assert_eq!(world.calls(action).await, 0, "{action}");
    }
}

#[tokio::test]
async fn all_pages_of_a_subnet_are_read_or_none() {
    let world = World::start("pages").await;
    // One interface more than fits on one page. A subnet of size /20 has room for them.
    let wide = world
        .sdk
        .create_vpc()
        .cidr_block("10.0.0.0/16")
        .send()
        .await
        .unwrap();
    let wide = wide.vpc.unwrap().vpc_id.unwrap();
    let subnet = world
        .sdk
        .create_subnet()
        .vpc_id(&wide)
        .cidr_block("10.0.0.0/20")
        .send()
        .await
        .unwrap();
    let subnet = SubnetId::new(subnet.subnet.unwrap().subnet_id.unwrap());
    let settings = format!("{}/_emulator/settings", world.endpoint);
    let answer = http_post(
        &settings,
        "application/json",
        json!({"token_buckets": false}).to_string(),
    );
    assert_eq!(answer.await.unwrap().code, 200);
    for _ in 0..1001 {
        world
            .sdk
            .create_network_interface()
            .subnet_id(subnet.as_str())
            .send()
            .await
            .unwrap();
    }
    assert_eq!(world.ec2.interfaces(&subnet).await.unwrap().len(), 1001);
    assert_eq!(world.calls(Action::DescribeInterfaces).await, 2);
    let denied = json!({"kind": "error", "code": "UnauthorizedOperation", "status": 403, "skip": 1,
        "action": Action::DescribeInterfaces.name()});
    world.fault(denied).await;
    assert_eq!(
        refused(world.ec2.interfaces(&subnet).await).0,
        Outcome::Denied
    );
}

#[tokio::test]
async fn an_empty_subnet_is_a_result_and_an_unknown_one_is_not() {
    let world = World::start("empty").await;
    let made = world
        .sdk
        .create_subnet()
        .vpc_id(&world.vpc)
        .cidr_block("203.0.113.128/25");
    let empty = SubnetId::new(
        made.send()
            .await
            .unwrap()
            .subnet
            .unwrap()
            .subnet_id
            .unwrap(),
    );
    assert_eq!(world.ec2.interfaces(&empty).await.unwrap(), []);
    let filter = Filter::builder()
        .name("subnet-id")
        .values(empty.as_str())
        .build();
    let raw = world
        .sdk
        .describe_network_interfaces()
        .filters(filter)
        .send()
        .await
        .unwrap();
    assert!(
        raw.network_interfaces.is_some(),
        "an empty set is there, a missing one is not"
    );
}

#[tokio::test]
async fn the_status_checks_of_an_instance_are_read() {
    let world = World::start("checks").await;
    let [one, other] = [&world.instances[0], &world.instances[1]];
    assert_eq!(world.ec2.impaired_since(one).await.unwrap(), None);
    let impaired = format!("{}/_emulator/impaired", world.endpoint);
    let order = json!({"instance_id": one.to_string(), "since": "2026-01-02T03:04:05.000Z"});
    let answer = http_post(&impaired, "application/json", order.to_string());
    assert_eq!(answer.await.unwrap().code, 200);
    let since = world.ec2.impaired_since(one).await.unwrap();
    assert_eq!(since.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!(world.ec2.impaired_since(other).await.unwrap(), None);
    // A stopped instance is listed, but has no status checks.
    let stop = world.sdk.stop_instances().instance_ids(one.as_str());
    stop.send().await.unwrap();
    assert_eq!(world.ec2.impaired_since(one).await.unwrap(), None);
    let unknown = InstanceId::from("i-00000000000000999");
    let error = world.ec2.impaired_since(&unknown).await.unwrap_err();
    assert_eq!(error.outcome, Outcome::InstanceNotFound);
}
