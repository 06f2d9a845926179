//! The rules of EC2 as a value: no clock, no threads, no randomness.
//!
//! [`Ec2::apply`] is the whole interface. A refused request changes nothing. The same requests in the same order give
//! the same state. [`crate::front`] adds the other behaviour of a real EC2: throttling, late answers, lost connections,
//! Describe lag.

mod addresses;
mod allocation;
pub mod error;
pub mod filter;
pub mod id;
pub mod instance_type;
mod instances;
mod interfaces;
mod networks;
pub mod objects;
mod prefixes;
mod read;
pub mod request;

use std::collections::BTreeMap;

use error::{Code, Ec2Error};
use id::{InstanceId, NetworkInterfaceId, SubnetId, VpcId};
use objects::{Instance, NetworkInterface, Subnet, Vpc};
use request::{Change, Changed, Request, Response};

/// The whole state of EC2. Equal values behave in the same way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ec2 {
    vpcs: BTreeMap<VpcId, Vpc>,
    subnets: BTreeMap<SubnetId, Subnet>,
    instances: BTreeMap<InstanceId, Instance>,
    interfaces: BTreeMap<NetworkInterfaceId, NetworkInterface>,
    /// The number of issued ids of all kinds.
    named: u64,
    /// The limit of addresses on an interface. None: the instance type sets it.
    limit: Option<usize>,
}

impl Ec2 {
    /// Executes one request atomically.
    ///
    /// # Errors
    /// A refusal with code and message. Then the state is unchanged.
    pub fn apply(&mut self, request: Request) -> Result<Response, Ec2Error> {
        match request {
            Request::Change(change) => self.change(change).map(Response::Changed),
            Request::Read(read) => self.read(&read).map(Response::Seen),
        }
    }

    /// Executes a mutating request.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn change(&mut self, change: Change) -> Result<Changed, Ec2Error> {
        match change {
            Change::CreateVpc { cidr, tags } => self.create_vpc(cidr, tags),
            Change::CreateSubnet {
                vpc,
                cidr,
                zone,
                tags,
            } => self.create_subnet(vpc, cidr, zone, tags),
            Change::RunInstances {
                subnet,
                kind,
                count,
                address,
                delete_on_termination,
                tags,
                interface_tags,
            } => self.run_instances(&instances::Launch {
                subnet,
                kind,
                count,
                address,
                delete_on_termination,
                tags,
                interface_tags,
            }),
            Change::CreateNetworkInterface {
                subnet,
                address,
                description,
                tags,
            } => self.create_interface(subnet, address, description, tags),
            Change::AttachNetworkInterface {
                interface,
                instance,
                device_index,
            } => self.attach(interface, instance, device_index),
            Change::DetachNetworkInterface { attachment } => self.detach(attachment),
            Change::DeleteNetworkInterface { interface } => self.delete_interface(interface),
            Change::AssignPrivateIpAddresses {
                interface,
                wanted,
                allow_reassignment,
            } => self.assign(interface, wanted, allow_reassignment),
            Change::UnassignPrivateIpAddresses {
                interface,
                addresses,
            } => self.unassign(interface, &addresses),
            Change::UnassignPrefixes {
                interface,
                prefixes,
            } => self.unassign_prefixes(interface, &prefixes),
            Change::StartInstances(ids) => self.start(&ids),
            Change::StopInstances(ids) => self.stop(&ids),
            Change::TerminateInstances(ids) => self.terminate(&ids),
            Change::CreateTags { resources, tags } => self.create_tags(&resources, &tags),
        }
    }

    /// The VPC with this id.
    ///
    /// # Errors
    /// `InvalidVpcID.NotFound`
    pub fn vpc(&self, id: VpcId) -> Result<&Vpc, Ec2Error> {
        self.vpcs.get(&id).ok_or_else(|| no_vpc(id))
    }

    /// The subnet with this id.
    ///
    /// # Errors
    /// `InvalidSubnetID.NotFound`
    pub fn subnet(&self, id: SubnetId) -> Result<&Subnet, Ec2Error> {
        self.subnets.get(&id).ok_or_else(|| no_subnet(id))
    }

    /// The instance with this id.
    ///
    /// # Errors
    /// `InvalidInstanceID.NotFound`
    pub fn instance(&self, id: InstanceId) -> Result<&Instance, Ec2Error> {
        self.instances.get(&id).ok_or_else(|| no_instance(id))
    }

    /// The network interface with this id.
    ///
    /// # Errors
    /// `InvalidNetworkInterfaceID.NotFound`
    pub fn interface(&self, id: NetworkInterfaceId) -> Result<&NetworkInterface, Ec2Error> {
        self.interfaces.get(&id).ok_or_else(|| no_interface(id))
    }

    /// All network interfaces, in the order of their ids.
    pub fn interfaces(&self) -> impl Iterator<Item = &NetworkInterface> {
        self.interfaces.values()
    }

    /// All instances, including terminated ones, in the order of their ids.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.values()
    }

    /// Sets the limit of addresses of each interface, independent of the instance type.
    pub fn limit_addresses(&mut self, limit: usize) {
        self.limit = Some(limit);
    }

    /// The network interface with this id, for changes that no request can make.
    ///
    /// # Errors
    /// As [`Self::interface`].
    pub fn interface_mut(
        &mut self,
        id: NetworkInterfaceId,
    ) -> Result<&mut NetworkInterface, Ec2Error> {
        self.interfaces.get_mut(&id).ok_or_else(|| no_interface(id))
    }

    fn instance_mut(&mut self, id: InstanceId) -> Result<&mut Instance, Ec2Error> {
        self.instances.get_mut(&id).ok_or_else(|| no_instance(id))
    }

    /// Issues the number of the next id, of any kind.
    fn next(&mut self) -> u64 {
        self.named += 1;
        self.named
    }
}

fn no_vpc(id: VpcId) -> Ec2Error {
    Ec2Error::new(
        Code::VpcNotFound,
        format!("The vpc ID '{id}' does not exist"),
    )
}

fn no_subnet(id: SubnetId) -> Ec2Error {
    Ec2Error::new(
        Code::SubnetNotFound,
        format!("The subnet ID '{id}' does not exist"),
    )
}

fn no_instance(id: InstanceId) -> Ec2Error {
    Ec2Error::new(
        Code::InstanceNotFound,
        format!("The instance ID '{id}' does not exist"),
    )
}

fn no_interface(id: NetworkInterfaceId) -> Ec2Error {
    Ec2Error::new(
        Code::InterfaceNotFound,
        format!("The networkInterface ID '{id}' does not exist"),
    )
}
