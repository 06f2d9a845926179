//! Parses a form into a request of the state machine.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::state::filter::{Filter, InstanceField, InterfaceField, SubnetField};
use crate::state::instance_type::InstanceType;
use crate::state::request::{Change, Read, Request, Wanted};

use super::page::Page;
use super::{Action, Form, Refusal};

/// A limit for one `RunInstances`. A larger number is probably a mistake in a test.
const MOST_INSTANCES: usize = 1000;

/// A parsed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The request.
    pub request: Request,
    /// The requested part of a long answer.
    pub page: Page,
    /// Is the answer narrowed by ids, filters or paging?
    pub narrowed: bool,
}

/// Is a Describe narrowed by ids, filters or paging? If not, EC2 uses a separate token bucket.
#[must_use]
pub fn narrowed(form: &Form) -> bool {
    ["Filter", "MaxResults", "NetworkInterfaceId", "InstanceId"]
        .iter()
        .any(|key| form.mentions(key))
}

/// Parses a form.
///
/// # Errors
/// `MissingParameter`, `InvalidParameterValue`, `Invalid...ID.Malformed` and similar codes.
pub fn read(action: Action, form: &Form) -> Result<Call, Refusal> {
    let mut page = Page::default();
    let request = match action {
        Action::DescribeNetworkInterfaces => {
            page = Page::read(form, "NetworkInterfaceId")?;
            Request::Read(Read::NetworkInterfaces {
                ids: form.ids("NetworkInterfaceId")?,
                filters: filters(form, interface_field)?,
            })
        }
        Action::DescribeInstances => {
            page = Page::read(form, "InstanceId")?;
            Request::Read(Read::Instances {
                ids: form.ids("InstanceId")?,
                filters: filters(form, instance_field)?,
            })
        }
        Action::DescribeInstanceStatus => {
            page = Page::read(form, "InstanceId")?;
            Request::Read(Read::InstanceStatus {
                ids: form.ids("InstanceId")?,
                all: form.flag("IncludeAllInstances")?,
            })
        }
        Action::DescribeSubnets => {
            page = Page::read(form, "SubnetId")?;
            Request::Read(Read::Subnets {
                ids: form.ids("SubnetId")?,
                filters: filters(form, subnet_field)?,
            })
        }
        Action::DescribeInstanceTypes => {
            page = Page::read(form, "InstanceType")?;
            Request::Read(Read::InstanceTypes {
                kinds: instance_types(form)?,
            })
        }
        _ => Request::Change(change(action, form)?),
    };
    Ok(Call {
        request,
        page,
        narrowed: narrowed(form),
    })
}

fn change(action: Action, form: &Form) -> Result<Change, Refusal> {
    Ok(match action {
        Action::CreateVpc => Change::CreateVpc {
            cidr: form.required_value("CidrBlock")?,
            tags: form.tags_for("vpc")?,
        },
        Action::CreateSubnet => Change::CreateSubnet {
            vpc: form.id("VpcId")?,
            cidr: form.required_value("CidrBlock")?,
            zone: form.text("AvailabilityZone").map(ToOwned::to_owned),
            tags: form.tags_for("subnet")?,
        },
        Action::RunInstances => run_instances(form)?,
        Action::CreateNetworkInterface => Change::CreateNetworkInterface {
            subnet: form.id("SubnetId")?,
            address: form.value("PrivateIpAddress")?,
            description: form.text("Description").unwrap_or_default().to_owned(),
            tags: form.tags_for("network-interface")?,
        },
        Action::AttachNetworkInterface => Change::AttachNetworkInterface {
            interface: form.id("NetworkInterfaceId")?,
            instance: form.id("InstanceId")?,
            device_index: form.required_value("DeviceIndex")?,
        },
        Action::DetachNetworkInterface => Change::DetachNetworkInterface {
            attachment: form.id("AttachmentId")?,
        },
        Action::DeleteNetworkInterface => Change::DeleteNetworkInterface {
            interface: form.id("NetworkInterfaceId")?,
        },
        Action::AssignPrivateIpAddresses => Change::AssignPrivateIpAddresses {
            interface: form.id("NetworkInterfaceId")?,
            wanted: wanted(form)?,
            allow_reassignment: form.flag("AllowReassignment")?,
        },
        Action::UnassignPrivateIpAddresses if form.mentions("Ipv4Prefix") => {
            Change::UnassignPrefixes {
                interface: form.id("NetworkInterfaceId")?,
                prefixes: form.values("Ipv4Prefix")?,
            }
        }
        Action::UnassignPrivateIpAddresses => Change::UnassignPrivateIpAddresses {
            interface: form.id("NetworkInterfaceId")?,
            addresses: some("PrivateIpAddress", form.values("PrivateIpAddress")?)?,
        },
        Action::StartInstances => {
            Change::StartInstances(some("InstanceId", form.ids("InstanceId")?)?)
        }
        Action::StopInstances => {
            Change::StopInstances(some("InstanceId", form.ids("InstanceId")?)?)
        }
        Action::TerminateInstances => {
            Change::TerminateInstances(some("InstanceId", form.ids("InstanceId")?)?)
        }
        Action::CreateTags => Change::CreateTags {
            resources: some("ResourceId", form.ids("ResourceId")?)?,
            tags: form.tags()?,
        },
        Action::DescribeInstanceStatus
        | Action::DescribeInstanceTypes
        | Action::DescribeInstances
        | Action::DescribeNetworkInterfaces
        | Action::DescribeSubnets => {
            return Err(Refusal::new(
                "InvalidAction",
                format!("{action} changes nothing."),
            ));
        }
    })
}

/// One unknown type, and the whole request is refused.
fn instance_types(form: &Form) -> Result<BTreeSet<InstanceType>, Refusal> {
    let (mut known, mut unknown) = (BTreeSet::new(), Vec::new());
    for name in form.list("InstanceType")? {
        match name.parse() {
            Ok(kind) => _ = known.insert(kind),
            Err(_) => unknown.push(name),
        }
    }
    if unknown.is_empty() {
        return Ok(known);
    }
    Err(Refusal::new(
        "InvalidInstanceType",
        format!(
            "The following supplied instance types do not exist: [{}]",
            unknown.join(", ")
        ),
    ))
}

/// The subnet and the primary address are either at the top level or in the interface of device index 0.
fn run_instances(form: &Form) -> Result<Change, Refusal> {
    let interfaces = form.parts("NetworkInterface")?;
    let primary = match interfaces.as_slice() {
        [] => Form::default(),
        [one] if one.value::<u32>("DeviceIndex")?.unwrap_or(0) == 0 => one.clone(),
        _ => {
            return Err(Refusal::new(
                "UnsupportedOperation",
                "Only the primary network interface can be given here; create and attach the others.",
            ));
        }
    };
    let inner = if primary.mentions("SubnetId") {
        &primary
    } else {
        form
    };
    if !inner.mentions("SubnetId") {
        return Err(Refusal::new(
            "VPCIdNotSpecified",
            "No default VPC for this user: the parameter SubnetId is missing.",
        ));
    }
    let fewest: usize = form.required_value("MinCount")?;
    let most: usize = form.required_value("MaxCount")?;
    if fewest == 0 || fewest > most || most > MOST_INSTANCES {
        return Err(Refusal::invalid(&most.to_string(), "MaxCount"));
    }
    let address: Option<Ipv4Addr> = primary.value("PrivateIpAddress")?;
    Ok(Change::RunInstances {
        subnet: inner.id("SubnetId")?,
        kind: form.required_value("InstanceType")?,
        count: most,
        address: address.or(form.value("PrivateIpAddress")?),
        delete_on_termination: primary.value("DeleteOnTermination")?.unwrap_or(true),
        tags: form.tags_for("instance")?,
        interface_tags: form.tags_for("network-interface")?,
    })
}

fn wanted(form: &Form) -> Result<Wanted, Refusal> {
    if form.mentions("Ipv4PrefixCount") {
        return Err(Refusal::new(
            "UnsupportedOperation",
            "Name the prefixes: a choice of EC2's is not modelled here.",
        ));
    }
    if form.mentions("Ipv4Prefix") {
        return Ok(Wanted::Prefixes(form.values("Ipv4Prefix")?));
    }
    let count: Option<usize> = form.value("SecondaryPrivateIpAddressCount")?;
    match (count, form.mentions("PrivateIpAddress")) {
        (Some(_), true) => Err(Refusal::new(
            "InvalidParameterCombination",
            "The parameter PrivateIpAddress cannot be used with the parameter \
             SecondaryPrivateIpAddressCount",
        )),
        (Some(count), false) => Ok(Wanted::Count(count)),
        (None, _) => Ok(Wanted::Addresses(some(
            "PrivateIpAddress",
            form.values("PrivateIpAddress")?,
        )?)),
    }
}

/// A list that must not be empty.
fn some<T: IntoIterator>(parameter: &str, list: T) -> Result<T, Refusal>
where
    for<'a> &'a T: IntoIterator,
{
    if (&list).into_iter().next().is_none() {
        return Err(Refusal::missing(parameter));
    }
    Ok(list)
}

fn filters<F>(form: &Form, field: impl Fn(&str) -> Option<F>) -> Result<Vec<Filter<F>>, Refusal> {
    let parts = form.parts("Filter")?;
    parts
        .iter()
        .map(|part| {
            let name = part.required("Name")?;
            // If an unknown filter were ignored, the answer would show more than requested.
            let field = field(name).ok_or_else(|| {
                Refusal::new(
                    "InvalidParameterValue",
                    format!("The filter '{name}' is invalid"),
                )
            })?;
            let values = part.list("Value")?.into_iter().map(ToOwned::to_owned);
            Ok(Filter {
                field,
                values: values.collect(),
            })
        })
        .collect()
}

fn tag(name: &str) -> Option<String> {
    name.strip_prefix("tag:").map(ToOwned::to_owned)
}

fn interface_field(name: &str) -> Option<InterfaceField> {
    Some(match name {
        "network-interface-id" => InterfaceField::Id,
        "subnet-id" => InterfaceField::Subnet,
        "vpc-id" => InterfaceField::Vpc,
        "private-ip-address" | "addresses.private-ip-address" => InterfaceField::Address,
        "attachment.instance-id" => InterfaceField::Instance,
        "attachment.status" => InterfaceField::AttachmentStatus,
        "attachment.device-index" => InterfaceField::DeviceIndex,
        "status" => InterfaceField::Status,
        "tag-key" => InterfaceField::TagKey,
        _ => InterfaceField::Tag(tag(name)?),
    })
}

fn instance_field(name: &str) -> Option<InstanceField> {
    Some(match name {
        "instance-id" => InstanceField::Id,
        "instance-state-name" => InstanceField::State,
        "subnet-id" => InstanceField::Subnet,
        "vpc-id" => InstanceField::Vpc,
        _ => InstanceField::Tag(tag(name)?),
    })
}

fn subnet_field(name: &str) -> Option<SubnetField> {
    Some(match name {
        "subnet-id" => SubnetField::Id,
        "vpc-id" => SubnetField::Vpc,
        "availability-zone" => SubnetField::Zone,
        _ => SubnetField::Tag(tag(name)?),
    })
}
