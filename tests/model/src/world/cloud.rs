//! The EC2 emulator behind the types of `plan`. Refusals are classified as in the real client.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ec2_emulator::state::Ec2;
use ec2_emulator::state::error::{Code, Ec2Error};
use ec2_emulator::state::id::{InstanceId as Machine, NetworkInterfaceId, SubnetId as Net};
use ec2_emulator::state::instance_type::InstanceType as Kind;
use ec2_emulator::state::objects::{InstanceState as Life, NetworkInterface};
use ec2_emulator::state::request::{Change, Changed, Wanted};
use mooring_plan::cloud::{InstanceState, Interface, Reassign};
use mooring_plan::facts::CallError;
use mooring_plan::names::{InstanceId, InterfaceId, SubnetId};
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::Call;

/// EC2, and the subnet that addresses come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cloud {
    ec2: Ec2,
    subnet: Net,
    /// The subnet of the first interface of each machine.
    machines: Net,
}

impl Cloud {
    /// One VPC with 203.0.113.0/24 for the addresses, and another subnet for the machines.
    pub fn new() -> Self {
        let mut ec2 = Ec2::default();
        let cidr = "203.0.0.0/16".parse().unwrap();
        let tags = BTreeMap::new;
        let Ok(Changed::Vpc(vpc)) = ec2.change(Change::CreateVpc { cidr, tags: tags() }) else {
            unreachable!("a VPC is created");
        };
        let mut subnet = |cidr: &str| {
            let cidr = cidr.parse().unwrap();
            let created = Change::CreateSubnet {
                vpc: vpc.id,
                cidr,
                zone: None,
                tags: tags(),
            };
            let Ok(Changed::Subnet(subnet)) = ec2.change(created) else {
                unreachable!("a subnet is created");
            };
            subnet.id
        };
        let (machines, subnet) = (subnet("203.0.1.0/24"), subnet("203.0.113.0/24"));
        Self {
            ec2,
            subnet,
            machines,
        }
    }

    /// The subnet's id.
    pub fn subnet(&self) -> SubnetId {
        SubnetId::new(self.subnet.to_string())
    }

    /// A machine with an interface in the subnet; the interface has room for one address of a block.
    pub fn machine(&mut self) -> (InstanceId, InterfaceId) {
        let run = Change::RunInstances {
            subnet: self.machines,
            kind: Kind::T3Micro,
            count: 1,
            address: None,
            delete_on_termination: true,
            tags: BTreeMap::new(),
            interface_tags: BTreeMap::new(),
        };
        let Ok(Changed::Instances(run)) = self.ec2.change(run) else {
            unreachable!("a machine is run");
        };
        let interface = self.loose_interface();
        let attach = Change::AttachNetworkInterface {
            interface,
            instance: run[0].id,
            device_index: 1,
        };
        self.ec2.change(attach).unwrap();
        (
            InstanceId::new(run[0].id.to_string()),
            InterfaceId::new(interface.to_string()),
        )
    }

    fn loose_interface(&mut self) -> NetworkInterfaceId {
        let create = Change::CreateNetworkInterface {
            subnet: self.subnet,
            address: None,
            description: String::new(),
            tags: BTreeMap::from([(
                "node.k8s.amazonaws.com/no_manage".to_owned(),
                "true".to_owned(),
            )]),
        };
        let Ok(Changed::NetworkInterface(interface)) = self.ec2.change(create) else {
            unreachable!("an interface is created");
        };
        interface.id
    }

    /// A foreign interface in the same subnet.
    pub fn foreign_interface(&mut self) -> InterfaceId {
        InterfaceId::new(self.loose_interface().to_string())
    }

    /// Executes a call of a controller.
    pub fn execute(&mut self, call: &Call) -> Result<(), CallError> {
        let Ok(interface) = call.interface().as_str().parse() else {
            unreachable!("{} is no id of the emulator's", call.interface());
        };
        let addresses = BTreeSet::from([call.address()]);
        let (action, change) = match call {
            Call::Assign(_, _, reassign) => {
                let change = Change::AssignPrivateIpAddresses {
                    interface,
                    wanted: Wanted::Addresses(addresses),
                    allow_reassignment: *reassign == Reassign::Allow,
                };
                (Action::Assign, change)
            }
            Call::Unassign(..) => {
                let change = Change::UnassignPrivateIpAddresses {
                    interface,
                    addresses,
                };
                (Action::Unassign, change)
            }
        };
        self.ec2
            .change(change)
            .map(|_| ())
            .map_err(|error| CallError {
                outcome: meaning(action, &error),
                code: error.code.as_str().to_owned(),
                message: error.message,
            })
    }

    /// Does the interface exist?
    pub fn has(&self, interface: &InterfaceId) -> bool {
        self.interfaces()
            .any(|found| found.id.to_string() == interface.as_str())
    }

    /// A person puts the address on an interface, also if another interface has it.
    pub fn put_manually(&mut self, address: Ipv4Addr, on: &InterfaceId) {
        // EC2 refuses if the interface is full, or if the address is the primary address of an interface.
        let _refused = self.execute(&Call::Assign(on.clone(), address, Reassign::Allow));
    }

    /// The machine is stopped; its interfaces stay.
    pub fn stop(&mut self, instance: &InstanceId) {
        self.ec2
            .change(Change::StopInstances(machine(instance)))
            .unwrap();
    }

    /// The machine is terminated, and its interface in the subnet is deleted.
    pub fn terminate(&mut self, instance: &InstanceId) {
        let left: Vec<NetworkInterfaceId> = self
            .interfaces()
            .filter(|interface| on(interface).as_ref() == Some(instance))
            .map(|interface| interface.id)
            .collect();
        self.ec2
            .change(Change::TerminateInstances(machine(instance)))
            .unwrap();
        for interface in left {
            self.ec2
                .change(Change::DeleteNetworkInterface { interface })
                .unwrap();
        }
    }

    fn interfaces(&self) -> impl Iterator<Item = &NetworkInterface> {
        self.ec2
            .interfaces()
            .filter(|interface| interface.subnet == self.subnet)
    }

    /// `DescribeNetworkInterfaces` of the subnet.
    pub fn describe(&self) -> Vec<Interface> {
        self.interfaces()
            .map(|interface| self.shown(interface))
            .collect()
    }

    fn shown(&self, interface: &NetworkInterface) -> Interface {
        Interface {
            id: InterfaceId::new(interface.id.to_string()),
            subnet: self.subnet(),
            instance: on(interface),
            attached: interface.attachment.is_some(),
            device_index: interface.attachment.map(|tie| tie.device_index),
            primary: Some(interface.primary),
            addresses: interface.addresses().collect(),
            prefixes: interface.prefixes.iter().copied().collect(),
            tags: interface.tags.clone(),
            requester_managed: false,
        }
    }

    /// `DescribeInstances` of one instance.
    pub fn state_of(&self, instance: &InstanceId) -> Option<InstanceState> {
        let id = instance.as_str().parse().ok()?;
        Some(match self.ec2.instance(id).ok()?.state {
            Life::Running => InstanceState::Running,
            Life::Stopped => InstanceState::Stopped,
            Life::Terminated => InstanceState::Terminated,
        })
    }

    /// The interface that has the address.
    pub fn holder_of(&self, address: Ipv4Addr) -> Option<InterfaceId> {
        let holder = self.ec2.holder(self.subnet, address)?;
        Some(InterfaceId::new(holder.id.to_string()))
    }

    /// All secondary addresses, with their interfaces.
    pub fn assigned(&self) -> BTreeSet<(Ipv4Addr, InterfaceId)> {
        let with = |interface: &NetworkInterface| {
            let id = InterfaceId::new(interface.id.to_string());
            let address = interface.secondary.clone().into_iter();
            address.map(move |address| (address, id.clone()))
        };
        self.interfaces().flat_map(with).collect()
    }

    /// The interface of a machine in the subnet.
    pub fn interface_on(&self, instance: &InstanceId) -> Option<InterfaceId> {
        let mut interfaces = self.interfaces();
        let found = interfaces.find(|interface| on(interface).as_ref() == Some(instance))?;
        Some(InterfaceId::new(found.id.to_string()))
    }
}

fn machine(instance: &InstanceId) -> BTreeSet<Machine> {
    BTreeSet::from([instance.as_str().parse().unwrap()])
}

fn on(interface: &NetworkInterface) -> Option<InstanceId> {
    let tie = interface.attachment?;
    Some(InstanceId::new(tie.instance.to_string()))
}

/// What a refusal of the emulator means; the controller's own reading of it is tested with the emulator's answers.
fn meaning(action: Action, error: &Ec2Error) -> Outcome {
    let says = |words: &str| error.message.contains(words);
    match (action, error.code) {
        (_, Code::InterfaceNotFound) => Outcome::InterfaceNotFound,
        (Action::Assign, Code::PrivateIpAddressLimitExceeded) => Outcome::NoRoom,
        (Action::Assign, Code::InvalidParameterValue) if says("move is not allowed") => {
            Outcome::AssignedElsewhere
        }
        (Action::Assign, Code::InvalidParameterValue) if says("primary") => Outcome::Primary,
        (Action::Unassign, Code::InvalidParameterValue) if says("not assigned to") => Outcome::Done,
        _ => panic!("no configuration leads to this: {action}: {error:?}"),
    }
}
