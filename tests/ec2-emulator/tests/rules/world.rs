//! A VPC with one subnet, 203.0.113.0/24, and helpers for the tests.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ec2_emulator::state::Ec2;
use ec2_emulator::state::error::Ec2Error;
use ec2_emulator::state::id::{InstanceId, NetworkInterfaceId, SubnetId, VpcId};
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::objects::{NetworkInterface, Tags};
use ec2_emulator::state::request::{Change, Changed, Wanted};

#[derive(Clone)]
pub struct World {
    pub ec2: Ec2,
    pub vpc: VpcId,
    pub subnet: SubnetId,
}

pub fn world() -> World {
    let mut ec2 = Ec2::default();
    let created = ec2.change(Change::CreateVpc {
        cidr: "203.0.112.0/20".parse().unwrap(),
        tags: Tags::new(),
    });
    let Ok(Changed::Vpc(vpc)) = created else {
        panic!("no VPC: {created:?}");
    };
    let mut world = World {
        ec2,
        vpc: vpc.id,
        subnet: SubnetId(0),
    };
    world.subnet = world.new_subnet("203.0.113.0/24", "eu-north-1a");
    world
}

pub fn ip(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

pub fn ips(texts: &[&str]) -> BTreeSet<Ipv4Addr> {
    texts.iter().map(|text| ip(text)).collect()
}

impl World {
    pub fn new_subnet(&mut self, cidr: &str, zone: &str) -> SubnetId {
        let created = self.ec2.change(Change::CreateSubnet {
            vpc: self.vpc,
            cidr: cidr.parse().unwrap(),
            zone: Some(zone.to_owned()),
            tags: Tags::new(),
        });
        match created {
            Ok(Changed::Subnet(subnet)) => subnet.id,
            other => panic!("no subnet: {other:?}"),
        }
    }

    /// Creates an instance. Returns it and its primary interface.
    pub fn instance(&mut self, kind: InstanceType) -> (InstanceId, NetworkInterfaceId) {
        self.instance_in(self.subnet, kind, true)
    }

    pub fn instance_in(
        &mut self,
        subnet: SubnetId,
        kind: InstanceType,
        delete_on_termination: bool,
    ) -> (InstanceId, NetworkInterfaceId) {
        let run = self.ec2.change(Change::RunInstances {
            subnet,
            kind,
            count: 1,
            address: None,
            delete_on_termination,
            tags: Tags::new(),
            interface_tags: Tags::new(),
        });
        let Ok(Changed::Instances(instances)) = run else {
            panic!("no instance: {run:?}");
        };
        let id = instances[0].id;
        let interface = self.ec2.interfaces_of(id)[0].id;
        (id, interface)
    }

    /// Creates an interface without an attachment.
    pub fn loose(&mut self) -> NetworkInterfaceId {
        self.loose_in(self.subnet, None).unwrap().id
    }

    pub fn loose_in(
        &mut self,
        subnet: SubnetId,
        address: Option<Ipv4Addr>,
    ) -> Result<NetworkInterface, Ec2Error> {
        let created = self.ec2.change(Change::CreateNetworkInterface {
            subnet,
            address,
            description: String::new(),
            tags: Tags::from([("role".to_owned(), "test".to_owned())]),
        })?;
        match created {
            Changed::NetworkInterface(interface) => Ok(interface),
            other => panic!("no interface: {other:?}"),
        }
    }

    pub fn attach(
        &mut self,
        interface: NetworkInterfaceId,
        instance: InstanceId,
        device_index: u32,
    ) -> Result<Changed, Ec2Error> {
        self.ec2.change(Change::AttachNetworkInterface {
            interface,
            instance,
            device_index,
        })
    }

    pub fn assign(
        &mut self,
        interface: NetworkInterfaceId,
        addresses: &[&str],
    ) -> Result<Changed, Ec2Error> {
        self.assign_all(interface, ips(addresses), false)
    }

    pub fn reassign(
        &mut self,
        interface: NetworkInterfaceId,
        addresses: &[&str],
    ) -> Result<Changed, Ec2Error> {
        self.assign_all(interface, ips(addresses), true)
    }

    pub fn assign_all(
        &mut self,
        interface: NetworkInterfaceId,
        addresses: BTreeSet<Ipv4Addr>,
        allow_reassignment: bool,
    ) -> Result<Changed, Ec2Error> {
        self.ec2.change(Change::AssignPrivateIpAddresses {
            interface,
            wanted: Wanted::Addresses(addresses),
            allow_reassignment,
        })
    }

    pub fn unassign(
        &mut self,
        interface: NetworkInterfaceId,
        addresses: &[&str],
    ) -> Result<Changed, Ec2Error> {
        self.ec2.change(Change::UnassignPrivateIpAddresses {
            interface,
            addresses: ips(addresses),
        })
    }

    pub fn secondary(&self, interface: NetworkInterfaceId) -> BTreeSet<Ipv4Addr> {
        self.ec2.interface(interface).unwrap().secondary.clone()
    }
}

/// Checks that the change was refused with this code and a message that contains these words.
#[track_caller]
pub fn refused(result: Result<Changed, Ec2Error>, code: &str, words: &str) {
    let error = result.expect_err("this is refused");
    assert_eq!(error.code.as_str(), code, "{error}");
    assert!(
        error.message.contains(words),
        "{words:?} is not in: {error}"
    );
}
