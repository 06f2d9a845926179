//! Writes each object in the format of EC2.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::state::Ec2;
use crate::state::objects::{Attachment, Instance, InstanceState, NetworkInterface, Subnet, Tags};

use super::xml::Xml;

/// The account of all resources.
pub const OWNER: &str = "123456789012";

/// `tagSet`
pub fn tags(xml: &mut Xml, tags: &Tags) {
    xml.items("tagSet", tags, |xml, (key, value)| {
        xml.leaf("key", key);
        xml.leaf("value", value);
    });
}

/// A set of prefixes.
pub fn prefixes(xml: &mut Xml, name: &str, prefixes: &BTreeSet<Ipv4Net>) {
    xml.items(name, prefixes, |xml, prefix| {
        xml.leaf("ipv4Prefix", prefix);
    });
}

/// The two fields of the state of an instance.
pub fn state(xml: &mut Xml, state: InstanceState) {
    xml.leaf("code", state.code());
    xml.leaf("name", state.as_str());
}

/// The fields of the status of an instance. An instance that does not run has no checks.
pub fn status(xml: &mut Xml, ec2: &Ec2, instance: &Instance) {
    xml.leaf("instanceId", instance.id);
    if let Ok(subnet) = ec2.subnet(instance.subnet) {
        xml.leaf("availabilityZone", &subnet.zone);
    }
    xml.within("instanceState", |xml| state(xml, instance.state));
    for check in ["systemStatus", "instanceStatus"] {
        xml.within(check, |xml| checks(xml, instance));
    }
}

fn checks(xml: &mut Xml, instance: &Instance) {
    if instance.state != InstanceState::Running {
        xml.leaf("status", "not-applicable");
        return;
    }
    let failed = instance.impaired.as_ref();
    xml.leaf("status", if failed.is_some() { "impaired" } else { "ok" });
    xml.items("details", [failed], |xml, since| {
        xml.leaf("name", "reachability");
        let word = if since.is_some() { "failed" } else { "passed" };
        xml.leaf("status", word);
        if let Some(since) = since {
            xml.leaf("impairedSince", since);
        }
    });
}

/// The fields of a subnet.
pub fn subnet(xml: &mut Xml, ec2: &Ec2, subnet: &Subnet) {
    xml.leaf("subnetId", subnet.id);
    xml.leaf("ownerId", OWNER);
    xml.leaf("state", "available");
    xml.leaf("vpcId", subnet.vpc);
    xml.leaf("cidrBlock", subnet.cidr);
    xml.leaf("availableIpAddressCount", ec2.free_count(subnet));
    xml.leaf("availabilityZone", &subnet.zone);
    xml.leaf("defaultForAz", false);
    tags(xml, &subnet.tags);
}

/// The fields of a network interface.
pub fn interface(xml: &mut Xml, ec2: &Ec2, interface: &NetworkInterface) {
    interface_body(xml, ec2, interface);
    if let Some(tie) = &interface.attachment {
        xml.within("attachment", |xml| {
            attachment(xml, tie);
            xml.leaf("instanceId", tie.instance);
            xml.leaf("instanceOwnerId", OWNER);
        });
    }
    if let Ok(subnet) = ec2.subnet(interface.subnet) {
        xml.leaf("availabilityZone", &subnet.zone);
    }
    xml.leaf("requesterManaged", false);
    tags(xml, &interface.tags);
}

/// The common fields of a network interface, and of the interface in an instance.
fn interface_body(xml: &mut Xml, ec2: &Ec2, interface: &NetworkInterface) {
    xml.leaf("networkInterfaceId", interface.id);
    xml.leaf("subnetId", interface.subnet);
    let subnet = ec2.subnet(interface.subnet);
    if let Ok(subnet) = subnet {
        xml.leaf("vpcId", subnet.vpc);
    }
    let zone = subnet.map_or("", |subnet| subnet.zone.as_str());
    xml.leaf("description", &interface.description);
    xml.leaf("ownerId", OWNER);
    xml.leaf("status", interface.status());
    xml.leaf("macAddress", mac(interface));
    xml.leaf("privateIpAddress", interface.primary);
    xml.leaf("privateDnsName", dns_name(interface.primary, zone));
    xml.leaf("sourceDestCheck", true);
    xml.leaf("interfaceType", "interface");
    xml.within("groupSet", |_| ());
    xml.within("ipv6AddressesSet", |_| ());
    prefixes(xml, "ipv4PrefixSet", &interface.prefixes);
    xml.items(
        "privateIpAddressesSet",
        interface.addresses(),
        |xml, address| {
            xml.leaf("privateIpAddress", address);
            xml.leaf("privateDnsName", dns_name(address, zone));
            xml.leaf("primary", address == interface.primary);
        },
    );
}

fn attachment(xml: &mut Xml, attachment: &Attachment) {
    xml.leaf("attachmentId", attachment.id);
    xml.leaf("deviceIndex", attachment.device_index);
    xml.leaf("networkCardIndex", 0);
    xml.leaf("status", "attached");
    xml.leaf("deleteOnTermination", attachment.delete_on_termination);
}

/// The fields of a reservation: the instances of one call.
pub fn reservation(xml: &mut Xml, ec2: &Ec2, instances: &[Instance]) {
    if let Some(first) = instances.first() {
        xml.leaf("reservationId", format!("r-{:017x}", first.id.0));
    }
    xml.leaf("ownerId", OWNER);
    xml.within("groupSet", |_| ());
    xml.items("instancesSet", instances, |xml, one| {
        instance(xml, ec2, one);
    });
}

/// A terminated instance has no interfaces and no subnet.
fn instance(xml: &mut Xml, ec2: &Ec2, instance: &Instance) {
    xml.leaf("instanceId", instance.id);
    xml.leaf("imageId", "ami-00000000000000001");
    xml.within("instanceState", |xml| state(xml, instance.state));
    xml.leaf("instanceType", instance.kind);
    if let Ok(subnet) = ec2.subnet(instance.subnet) {
        xml.within("placement", |xml| {
            xml.leaf("availabilityZone", &subnet.zone);
        });
        if instance.state != InstanceState::Terminated {
            xml.leaf("subnetId", subnet.id);
            xml.leaf("vpcId", subnet.vpc);
        }
        let primary = ec2
            .interfaces_of(instance.id)
            .first()
            .map(|first| first.primary);
        if let Some(primary) = primary {
            xml.leaf("privateIpAddress", primary);
            xml.leaf("privateDnsName", dns_name(primary, &subnet.zone));
        }
    }
    xml.items(
        "networkInterfaceSet",
        ec2.interfaces_of(instance.id),
        |xml, one| {
            interface_body(xml, ec2, one);
            if let Some(tie) = &one.attachment {
                xml.within("attachment", |xml| attachment(xml, tie));
            }
        },
    );
    tags(xml, &instance.tags);
}

/// The default DNS name in EC2: the address and the region, which is the zone without its letter.
fn dns_name(address: Ipv4Addr, zone: &str) -> String {
    let region = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let address = address.to_string().replace('.', "-");
    format!("ip-{address}.{region}.compute.internal")
}

/// A locally administered MAC address, unique for each interface.
fn mac(interface: &NetworkInterface) -> String {
    let [.., high, mid_high, middle, mid_low, low] = interface.id.0.to_be_bytes();
    format!("02:{high:02x}:{mid_high:02x}:{middle:02x}:{mid_low:02x}:{low:02x}")
}
