//! One sequence of calls, limited to what moto does correctly: an address on one interface only, inside the subnet,
//! below the limit. The rules that only a real EC2 and our emulator enforce are tested in `tests/rules`.

mod instances;
mod interfaces;
mod network;

use aws_sdk_ec2::Client;

use self::instances::{instance, life, types};
use self::interfaces::{addresses, attach, interface, leave, secondary};
use self::network::network;
use crate::client::refused;

/// Makes all calls, and checks each answer.
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
