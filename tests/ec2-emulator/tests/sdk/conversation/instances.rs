//! An instance starts, stops and ends. The limits of instance types.

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::InstanceType;

use super::network::Place;

pub async fn instance(ec2: &Client, place: &Place) -> String {
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

pub async fn life(ec2: &Client, instance: &str) {
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

/// moto has the original table of AWS. If both pass, our table is equal for these types.
pub async fn types(ec2: &Client) {
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
