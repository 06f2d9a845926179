//! An interface is created and attached, gets addresses, and is deleted.

use std::collections::BTreeSet;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{Filter, NetworkInterface, ResourceType, Tag, TagSpecification};

use super::network::Place;
use crate::client::refused;

pub async fn interface(ec2: &Client, place: &Place) -> String {
    let tag = Tag::builder()
        .key("node.k8s.amazonaws.com/no_manage")
        .value("true")
        .build();
    let tags = TagSpecification::builder()
        .resource_type(ResourceType::NetworkInterface)
        .tags(tag)
        .build();
    let created = ec2
        .create_network_interface()
        .subnet_id(&place.subnet)
        .description("for pods & <friends>")
        .private_ip_address("10.42.1.40")
        .tag_specifications(tags)
        .send()
        .await
        .unwrap();
    let id = created
        .network_interface()
        .unwrap()
        .network_interface_id()
        .unwrap();

    let one = describe(ec2, id).await;
    assert_eq!(one.status().unwrap().as_str(), "available");
    assert_eq!(one.description(), Some("for pods & <friends>"));
    assert_eq!(one.subnet_id(), Some(place.subnet.as_str()));
    assert_eq!(one.vpc_id(), Some(place.vpc.as_str()));
    assert_eq!(one.private_ip_address(), Some("10.42.1.40"));
    let [tag] = one.tag_set() else {
        panic!("not one tag: {one:?}");
    };
    assert_eq!(tag.key(), Some("node.k8s.amazonaws.com/no_manage"));
    assert_eq!(tag.value(), Some("true"));
    let [address] = one.private_ip_addresses() else {
        panic!("not one address: {one:?}");
    };
    assert_eq!(address.primary(), Some(true));
    assert_eq!(address.private_ip_address(), Some("10.42.1.40"));
    assert!(one.attachment().is_none());
    id.to_owned()
}

pub async fn attach(ec2: &Client, place: &Place, instance: &str, interface: &str) -> String {
    let attached = ec2
        .attach_network_interface()
        .network_interface_id(interface)
        .instance_id(instance)
        .device_index(1)
        .send()
        .await
        .unwrap();
    let attachment = attached.attachment_id().unwrap().to_owned();

    let one = describe(ec2, interface).await;
    assert_eq!(one.status().unwrap().as_str(), "in-use");
    let tie = one.attachment().unwrap();
    assert_eq!(tie.attachment_id(), Some(attachment.as_str()));
    assert_eq!(tie.instance_id(), Some(instance));
    assert_eq!(tie.device_index(), Some(1));
    assert_eq!(tie.status().unwrap().as_str(), "attached");

    for (name, value, expected) in [
        ("subnet-id", place.subnet.as_str(), 2),
        ("vpc-id", place.vpc.as_str(), 2),
        ("attachment.instance-id", instance, 2),
        ("network-interface-id", interface, 1),
        ("private-ip-address", "10.42.1.40", 1),
        ("addresses.private-ip-address", "10.42.1.40", 1),
        ("tag:node.k8s.amazonaws.com/no_manage", "true", 1),
        ("subnet-id", "subnet-0123456789abcdef0", 0),
    ] {
        let filter = Filter::builder().name(name).values(value).build();
        let found = ec2
            .describe_network_interfaces()
            .filters(filter)
            .send()
            .await
            .unwrap();
        assert_eq!(found.network_interfaces().len(), expected, "{name}={value}");
    }
    attachment
}

pub async fn addresses(ec2: &Client, interface: &str) {
    let assigned = ec2
        .assign_private_ip_addresses()
        .network_interface_id(interface)
        .private_ip_addresses("10.42.1.50")
        .private_ip_addresses("10.42.1.51")
        .send()
        .await
        .unwrap();
    assert_eq!(assigned.network_interface_id(), Some(interface));
    let answered: BTreeSet<_> = assigned
        .assigned_private_ip_addresses()
        .iter()
        .filter_map(|address| address.private_ip_address())
        .collect();
    assert!(
        answered.is_superset(&BTreeSet::from(["10.42.1.50", "10.42.1.51"])),
        "{assigned:?}"
    );
    assert_eq!(
        secondary(ec2, interface).await,
        ["10.42.1.50", "10.42.1.51"]
    );

    ec2.unassign_private_ip_addresses()
        .network_interface_id(interface)
        .private_ip_addresses("10.42.1.50")
        .send()
        .await
        .unwrap();
    assert_eq!(secondary(ec2, interface).await, ["10.42.1.51"]);
}

pub async fn leave(ec2: &Client, interface: &str, attachment: &str) {
    ec2.detach_network_interface()
        .attachment_id(attachment)
        .send()
        .await
        .unwrap();
    let one = describe(ec2, interface).await;
    assert_eq!(one.status().unwrap().as_str(), "available");
    ec2.delete_network_interface()
        .network_interface_id(interface)
        .send()
        .await
        .unwrap();
    let described = ec2
        .describe_network_interfaces()
        .network_interface_ids(interface)
        .send()
        .await;
    assert_eq!(
        refused(described),
        (400, "InvalidNetworkInterfaceID.NotFound".to_owned())
    );
}

async fn describe(ec2: &Client, interface: &str) -> NetworkInterface {
    let described = ec2
        .describe_network_interfaces()
        .network_interface_ids(interface)
        .send()
        .await
        .unwrap();
    let [one] = described.network_interfaces() else {
        panic!("not one interface: {described:?}");
    };
    one.clone()
}

pub async fn secondary(ec2: &Client, interface: &str) -> Vec<String> {
    let described = describe(ec2, interface).await;
    let mut addresses: Vec<_> = described
        .private_ip_addresses()
        .iter()
        .filter(|address| address.primary() != Some(true))
        .filter_map(|address| address.private_ip_address().map(ToOwned::to_owned))
        .collect();
    addresses.sort_unstable();
    addresses
}
