//! Writes an answer of the state machine as XML.

use crate::state::Ec2;
use crate::state::objects::InstanceState;
use crate::state::request::{Changed, Response, Seen};

use super::page::Page;
use super::xml::Xml;
use super::{Action, Refusal, describe};

/// Writes the answer of a call; `ec2` is the state that the answer was made from.
///
/// # Errors
/// The answer is too large for one page, and the request was not paged.
pub fn write(
    action: Action,
    ec2: &Ec2,
    response: Response,
    page: &Page,
    narrowed: bool,
    request_id: &str,
) -> Result<String, Refusal> {
    let (seen, next) = match response {
        Response::Changed(changed) => {
            return Ok(answer(action, request_id, |xml| {
                write_changed(xml, ec2, &changed);
            }));
        }
        Response::Seen(Seen::NetworkInterfaces(mut found)) => {
            let next = page.cut(&mut found, |interface| interface.id, narrowed)?;
            (Seen::NetworkInterfaces(found), next)
        }
        Response::Seen(Seen::Instances(mut found)) => {
            let next = page.cut(&mut found, |instance| instance.id, narrowed)?;
            (Seen::Instances(found), next)
        }
        Response::Seen(Seen::InstanceStatus(mut found)) => {
            let next = page.cut(&mut found, |instance| instance.id, narrowed)?;
            (Seen::InstanceStatus(found), next)
        }
        Response::Seen(Seen::Subnets(mut found)) => {
            let next = page.cut(&mut found, |subnet| subnet.id, narrowed)?;
            (Seen::Subnets(found), next)
        }
        Response::Seen(Seen::InstanceTypes(mut found)) => {
            found.sort_unstable_by_key(|kind| kind.as_str());
            let next = page.cut(&mut found, |kind| *kind, narrowed)?;
            (Seen::InstanceTypes(found), next)
        }
    };
    Ok(answer(action, request_id, |xml| {
        write_seen(xml, ec2, &seen);
        if let Some(next) = &next {
            xml.leaf("nextToken", next);
        }
    }))
}

fn answer(action: Action, request_id: &str, content: impl FnOnce(&mut Xml)) -> String {
    let mut xml = Xml::document();
    xml.root(&format!("{action}Response"), |xml| {
        xml.leaf("requestId", request_id);
        content(xml);
    });
    xml.finish()
}

fn write_changed(xml: &mut Xml, ec2: &Ec2, done: &Changed) {
    match done {
        Changed::Vpc(vpc) => xml.within("vpc", |xml| {
            xml.leaf("vpcId", vpc.id);
            xml.leaf("ownerId", describe::OWNER);
            xml.leaf("state", "available");
            xml.leaf("cidrBlock", vpc.cidr);
            xml.leaf("isDefault", false);
            describe::tags(xml, &vpc.tags);
        }),
        Changed::Subnet(subnet) => {
            xml.within("subnet", |xml| describe::subnet(xml, ec2, subnet));
        }
        Changed::Instances(instances) => describe::reservation(xml, ec2, instances),
        Changed::NetworkInterface(interface) => xml.within("networkInterface", |xml| {
            describe::interface(xml, ec2, interface);
        }),
        Changed::Attached(attachment) => {
            xml.leaf("attachmentId", attachment);
            xml.leaf("networkCardIndex", 0);
        }
        Changed::Assigned {
            interface,
            addresses,
        } => {
            xml.leaf("networkInterfaceId", interface);
            xml.items(
                "assignedPrivateIpAddressesSet",
                addresses,
                |xml, address| {
                    xml.leaf("privateIpAddress", address);
                },
            );
            xml.leaf("return", true);
        }
        Changed::AssignedPrefixes {
            interface,
            prefixes,
        } => {
            xml.leaf("networkInterfaceId", interface);
            describe::prefixes(xml, "assignedIpv4PrefixSet", prefixes);
            xml.leaf("return", true);
        }
        Changed::States(changes) => xml.items("instancesSet", changes, |xml, change| {
            let state = |xml: &mut Xml, name: &str, state: InstanceState| {
                xml.within(name, |xml| describe::state(xml, state));
            };
            xml.leaf("instanceId", change.instance);
            state(xml, "currentState", change.current);
            state(xml, "previousState", change.previous);
        }),
        Changed::Done => xml.leaf("return", true),
    }
}

fn write_seen(xml: &mut Xml, ec2: &Ec2, seen: &Seen) {
    match seen {
        Seen::NetworkInterfaces(found) => {
            xml.items("networkInterfaceSet", found, |xml, interface| {
                describe::interface(xml, ec2, interface);
            });
        }
        Seen::Instances(found) => xml.items("reservationSet", found, |xml, instance| {
            describe::reservation(xml, ec2, std::slice::from_ref(instance));
        }),
        Seen::InstanceStatus(found) => xml.items("instanceStatusSet", found, |xml, instance| {
            describe::status(xml, ec2, instance);
        }),
        Seen::Subnets(found) => xml.items("subnetSet", found, |xml, subnet| {
            describe::subnet(xml, ec2, subnet);
        }),
        Seen::InstanceTypes(found) => xml.items("instanceTypeSet", found, |xml, kind| {
            xml.leaf("instanceType", kind);
            xml.within("networkInfo", |xml| {
                xml.leaf("maximumNetworkInterfaces", kind.interfaces());
                xml.leaf("maximumNetworkCards", 1);
                xml.leaf("ipv4AddressesPerInterface", kind.addresses_per_interface());
                xml.leaf("ipv6AddressesPerInterface", kind.addresses_per_interface());
                xml.leaf("ipv6Supported", true);
            });
        }),
    }
}
