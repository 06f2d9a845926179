//! One conversation, limited to what moto does right: one interface an address, inside the subnet, below
//! the limit. What only a real EC2 and our emulator enforce is tested on the rules.

use std::collections::BTreeSet;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{
    Filter, InstanceType, NetworkInterface, ResourceType, Tag, TagSpecification,
};

use crate::client::refused;

const SUBNET: &str = "10.42.1.0/24";

struct Place {
    vpc: String,
    subnet: String,
    zone: String,
}

/// Runs the whole conversation, and checks each answer.
pub async fn converse(ec2: &Client) {
    let place = network(ec2).await;
    let instance = instance(ec2, &place).await;
    let interface = interface(ec2, &place).await;
    let attachment = attach(ec2, &place, &instance, &interface).await;
    addresses(ec2, &interface).await;
    errors(ec2, &interface, &instance).await;
    leave(ec2, &interface, &attachment).await;
    life(ec2, &instance).await;
    types(ec2).await;
}

async fn network(ec2: &Client) -> Place {
    let created = ec2
        .create_vpc()
        .cidr_block("10.42.0.0/16")
        .send()
        .await
        .unwrap();
    let vpc = created.vpc().unwrap();
    assert_eq!(vpc.cidr_block(), Some("10.42.0.0/16"));
    let vpc = vpc.vpc_id().unwrap().to_owned();

    let created = ec2
        .create_subnet()
        .vpc_id(&vpc)
        .cidr_block(SUBNET)
        .availability_zone("eu-north-1b")
        .send()
        .await
        .unwrap();
    let subnet = created.subnet().unwrap().subnet_id().unwrap().to_owned();

    let described = ec2
        .describe_subnets()
        .subnet_ids(&subnet)
        .send()
        .await
        .unwrap();
    let [one] = described.subnets() else {
        panic!("not one subnet: {described:?}");
    };
    assert_eq!(one.cidr_block(), Some(SUBNET));
    assert_eq!(one.vpc_id(), Some(vpc.as_str()));
    assert_eq!(one.availability_zone(), Some("eu-north-1b"));
    assert_eq!(one.available_ip_address_count(), Some(251));
    let zone = one.availability_zone().unwrap().to_owned();
    Place { vpc, subnet, zone }
}

async fn instance(ec2: &Client, place: &Place) -> String {
    let run = ec2
        .run_instances()
        .image_id("ami-12c6146b")
        .instance_type(InstanceType::T3Medium)
        .min_count(1)
        .max_count(1)
        .subnet_id(&place.subnet)
        .send()
        .await
        .unwrap();
    let [started] = run.instances() else {
        panic!("not one instance: {run:?}");
    };
    let id = started.instance_id().unwrap().to_owned();

    let described = ec2
        .describe_instances()
        .instance_ids(&id)
        .send()
        .await
        .unwrap();
    let [reservation] = described.reservations() else {
        panic!("not one reservation: {described:?}");
    };
    let [one] = reservation.instances() else {
        panic!("not one instance: {reservation:?}");
    };
    assert_eq!(one.state().unwrap().name().unwrap().as_str(), "running");
    assert_eq!(one.state().unwrap().code(), Some(16));
    assert_eq!(one.instance_type(), Some(&InstanceType::T3Medium));
    assert_eq!(one.subnet_id(), Some(place.subnet.as_str()));
    assert_eq!(one.vpc_id(), Some(place.vpc.as_str()));
    assert_eq!(
        one.placement().unwrap().availability_zone(),
        Some(place.zone.as_str())
    );
    let [primary] = one.network_interfaces() else {
        panic!("not one interface: {one:?}");
    };
    assert_eq!(primary.attachment().unwrap().device_index(), Some(0));
    assert_eq!(primary.private_ip_address(), one.private_ip_address());
    id
}

async fn interface(ec2: &Client, place: &Place) -> String {
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

async fn attach(ec2: &Client, place: &Place, instance: &str, interface: &str) -> String {
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

async fn addresses(ec2: &Client, interface: &str) {
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

async fn errors(ec2: &Client, interface: &str, instance: &str) {
    let gone = "eni-0123456789abcdef0";
    let unknown_interface = (400, "InvalidNetworkInterfaceID.NotFound".to_owned());
    let unknown_instance = (400, "InvalidInstanceID.NotFound".to_owned());

    let described = ec2
        .describe_network_interfaces()
        .network_interface_ids(gone)
        .send()
        .await;
    assert_eq!(refused(described), unknown_interface);
    let assign = ec2.assign_private_ip_addresses().network_interface_id(gone);
    let assigned = assign.private_ip_addresses("10.42.1.60").send().await;
    assert_eq!(refused(assigned), unknown_interface);
    let described = ec2
        .describe_instances()
        .instance_ids("i-0123456789abcdef0")
        .send()
        .await;
    assert_eq!(refused(described), unknown_instance);

    let dry = ec2
        .describe_instances()
        .instance_ids(instance)
        .dry_run(true)
        .send()
        .await;
    assert_eq!(refused(dry), (412, "DryRunOperation".to_owned()));
    assert_eq!(secondary(ec2, interface).await, ["10.42.1.51"]);
}

async fn leave(ec2: &Client, interface: &str, attachment: &str) {
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

async fn life(ec2: &Client, instance: &str) {
    let stopped = ec2
        .stop_instances()
        .instance_ids(instance)
        .send()
        .await
        .unwrap();
    let [change] = stopped.stopping_instances() else {
        panic!("not one instance: {stopped:?}");
    };
    assert_eq!(
        change.previous_state().unwrap().name().unwrap().as_str(),
        "running"
    );
    assert_eq!(state(ec2, instance).await, "stopped");
    ec2.start_instances()
        .instance_ids(instance)
        .send()
        .await
        .unwrap();
    assert_eq!(state(ec2, instance).await, "running");
    let ended = ec2
        .terminate_instances()
        .instance_ids(instance)
        .send()
        .await
        .unwrap();
    let [change] = ended.terminating_instances() else {
        panic!("not one instance: {ended:?}");
    };
    assert_eq!(
        change.previous_state().unwrap().name().unwrap().as_str(),
        "running"
    );
    assert_eq!(state(ec2, instance).await, "terminated");
}

/// moto has AWS' own table: so has ours, if both pass.
async fn types(ec2: &Client) {
    for (name, interfaces, addresses) in [
        ("t3.micro", 2, 2),
        ("t3.small", 3, 4),
        ("t3.medium", 3, 6),
        ("c5.large", 3, 10),
        ("m5.large", 3, 10),
        ("c6i.xlarge", 4, 15),
        ("m5.4xlarge", 8, 30),
        ("c5.24xlarge", 15, 50),
    ] {
        let described = ec2
            .describe_instance_types()
            .instance_types(InstanceType::from(name));
        let described = described.send().await.unwrap();
        let [one] = described.instance_types() else {
            panic!("not one type: {described:?}");
        };
        let network = one.network_info().unwrap();
        assert_eq!(
            network.maximum_network_interfaces(),
            Some(interfaces),
            "{name}"
        );
        assert_eq!(
            network.ipv4_addresses_per_interface(),
            Some(addresses),
            "{name}"
        );
    }
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

async fn secondary(ec2: &Client, interface: &str) -> Vec<String> {
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

async fn state(ec2: &Client, instance: &str) -> String {
    let described = ec2
        .describe_instances()
        .instance_ids(instance)
        .send()
        .await
        .unwrap();
    let instance = &described.reservations()[0].instances()[0];
    instance
        .state()
        .unwrap()
        .name()
        .unwrap()
        .as_str()
        .to_owned()
}
