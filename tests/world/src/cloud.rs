//! EC2: the state machine of the emulator, with the types of `plan` and with readable names.

mod calls;

use std::collections::{BTreeMap, BTreeSet};

use ec2_emulator::state::Ec2;
use ec2_emulator::state::id::{InstanceId as Machine, NetworkInterfaceId, SubnetId as Net};
use ec2_emulator::state::instance_type::InstanceType;
use ec2_emulator::state::objects::{InstanceState as Life, NetworkInterface};
use ec2_emulator::state::request::{Change, Changed};
use mooring_plan::address::{Address, Cidr};
use mooring_plan::cloud::{InstanceState, Interface};
use mooring_plan::names::{InstanceId, InterfaceId, MacAddress, SubnetId};
use mooring_plan::outcome::Action;

use crate::objects::{SUBNET, unmanaged};

/// The subnet of the first interface of each machine.
const MACHINES: &str = "machines";

/// EC2, with interfaces that have names. The first interface of a machine has none and is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cloud {
    ec2: Ec2,
    limit: u32,
    /// The ids that EC2 assigned, by name.
    ids: BTreeMap<String, u64>,
    names: BTreeMap<u64, String>,
    /// The actions that the IAM policy of the controllers does not permit.
    denied: BTreeSet<Action>,
}

impl Cloud {
    /// EC2 with one subnet for addresses, and this limit of addresses on each interface.
    pub fn with_limit(limit: u32) -> Self {
        let mut cloud = Self {
            ec2: Ec2::default(),
            limit,
            ids: BTreeMap::new(),
            names: BTreeMap::new(),
            denied: BTreeSet::new(),
        };
        cloud.limit_addresses(limit);
        cloud.subnet(MACHINES);
        cloud.subnet(SUBNET);
        cloud
    }

    /// Sets the limit of addresses of each interface.
    pub fn limit_addresses(&mut self, limit: u32) {
        self.limit = limit;
        self.ec2.limit_addresses(limit as usize);
    }

    /// The most addresses on an interface.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The IAM policy of the controllers does not permit this action any more.
    pub fn deny(&mut self, action: Action) {
        self.denied.insert(action);
    }

    /// The IAM policy of the controllers permits this action again.
    pub fn permit(&mut self, action: Action) {
        self.denied.remove(&action);
    }

    /// The actions that the IAM policy of the controllers does not permit.
    pub const fn denied(&self) -> &BTreeSet<Action> {
        &self.denied
    }

    fn change(&mut self, change: Change) -> Changed {
        match self.ec2.change(change) {
            Ok(changed) => changed,
            Err(refused) => panic!("{refused:?}"),
        }
    }

    fn name(&mut self, name: &str, id: u64) {
        self.ids.insert(name.to_owned(), id);
        self.names.insert(id, name.to_owned());
    }

    /// The subnet of this name, created if it is new. Each is in a separate VPC, so that their ranges may be equal.
    pub fn subnet(&mut self, name: &str) -> Net {
        if let Some(id) = self.ids.get(name) {
            return Net(*id);
        }
        let (within, cidr) = ("203.0.0.0/16", "203.0.112.0/20");
        let (within, cidr) = (within.parse().unwrap(), cidr.parse().unwrap());
        let tags = BTreeMap::new;
        let vpc = Change::CreateVpc {
            cidr: within,
            tags: tags(),
        };
        let Changed::Vpc(vpc) = self.change(vpc) else {
            unreachable!("a VPC is created");
        };
        let subnet = Change::CreateSubnet {
            vpc: vpc.id,
            cidr,
            zone: None,
            tags: tags(),
        };
        let Changed::Subnet(subnet) = self.change(subnet) else {
            unreachable!("a subnet is created");
        };
        self.name(name, subnet.id.0);
        subnet.id
    }

    /// The machine of this name, if it was started and not terminated.
    fn living(&self, name: &InstanceId) -> Option<Machine> {
        let state = self.state_of(name)?;
        (state != InstanceState::Terminated).then(|| Machine(self.ids[name.as_str()]))
    }

    /// The machine of this name. It is started if it does not run.
    fn machine(&mut self, name: &InstanceId) -> Machine {
        if let Some(living) = self.living(name) {
            return living;
        }
        let run = Change::RunInstances {
            subnet: self.subnet(MACHINES),
            // The type with the most interfaces.
            kind: InstanceType::C524xlarge,
            count: 1,
            address: None,
            delete_on_termination: true,
            tags: BTreeMap::new(),
            interface_tags: BTreeMap::new(),
        };
        let Changed::Instances(run) = self.change(run) else {
            unreachable!("a machine is run");
        };
        self.name(name.as_str(), run[0].id.0);
        run[0].id
    }

    /// Creates an interface that the CNI does not use, on a machine or on none. Without a primary address it gets the
    /// lowest free one.
    pub fn create_interface(
        &mut self,
        name: &InterfaceId,
        instance: Option<&InstanceId>,
        primary: Option<Address>,
    ) {
        let create = Change::CreateNetworkInterface {
            subnet: self.subnet(SUBNET),
            address: primary.map(Address::ipv4),
            description: String::new(),
            tags: unmanaged(),
        };
        let Changed::NetworkInterface(interface) = self.change(create) else {
            unreachable!("an interface is created");
        };
        self.name(name.as_str(), interface.id.0);
        if let Some(instance) = instance {
            self.attach(name, instance);
        }
    }

    /// Attaches an interface to a machine, at the lowest free device index.
    pub fn attach(&mut self, name: &InterfaceId, instance: &InstanceId) {
        self.detach(name);
        let (interface, instance) = (self.id(name), self.machine(instance));
        let ties = self.ec2.interfaces().filter_map(|other| other.attachment);
        let ties = ties.filter(|tie| tie.instance == instance);
        let taken: BTreeSet<u32> = ties.map(|tie| tie.device_index).collect();
        let free = (1..=15).find(|index| !taken.contains(index));
        self.change(Change::AttachNetworkInterface {
            interface,
            instance,
            device_index: free.unwrap(),
        });
    }

    /// Detaches an interface, if it is attached.
    pub fn detach(&mut self, name: &InterfaceId) {
        if let Some(tie) = self.interface_mut(name).attachment {
            self.change(Change::DetachNetworkInterface { attachment: tie.id });
        }
    }

    /// Detaches and deletes an interface, if it exists.
    pub fn delete_interface(&mut self, name: &InterfaceId) {
        if self.has(name) {
            self.detach(name);
            let interface = self.id(name);
            self.change(Change::DeleteNetworkInterface { interface });
        }
    }

    fn id(&self, name: &InterfaceId) -> NetworkInterfaceId {
        // EC2 refuses an id that it never assigned.
        NetworkInterfaceId(self.ids.get(name.as_str()).copied().unwrap_or_default())
    }

    /// An interface, for changes that no request of EC2 can make.
    pub fn interface_mut(&mut self, name: &InterfaceId) -> &mut NetworkInterface {
        let id = self.id(name);
        self.ec2.interface_mut(id).unwrap()
    }

    /// Does the interface exist?
    pub fn has(&self, interface: &InterfaceId) -> bool {
        self.ec2.interface(self.id(interface)).is_ok()
    }

    /// Starts a stopped machine.
    pub fn start(&mut self, instance: &InstanceId) {
        if let Some(machine) = self.living(instance) {
            self.change(Change::StartInstances(BTreeSet::from([machine])));
        }
    }

    /// Stops a machine. Its interfaces stay.
    pub fn stop(&mut self, instance: &InstanceId) {
        if let Some(machine) = self.living(instance) {
            self.change(Change::StopInstances(BTreeSet::from([machine])));
        }
    }

    /// Terminates a machine. Its interfaces in the subnet are deleted.
    pub fn terminate(&mut self, instance: &InstanceId) {
        let Some(machine) = self.living(instance) else {
            return;
        };
        let shown = self.shown();
        let left = shown.filter(|interface| on(interface) == Some(machine));
        let left: Vec<NetworkInterfaceId> = left.map(|interface| interface.id).collect();
        self.change(Change::TerminateInstances(BTreeSet::from([machine])));
        for interface in left {
            self.change(Change::DeleteNetworkInterface { interface });
        }
    }

    /// The interfaces that have names.
    fn shown(&self) -> impl Iterator<Item = &NetworkInterface> {
        let named = |interface: &&NetworkInterface| self.names.contains_key(&interface.id.0);
        self.ec2.interfaces().filter(named)
    }

    fn name_of(&self, interface: &NetworkInterface) -> InterfaceId {
        InterfaceId::from(self.names[&interface.id.0].as_str())
    }

    /// `DescribeNetworkInterfaces`.
    pub fn describe(&self) -> Vec<Interface> {
        self.shown()
            .map(|interface| Interface {
                mac: Some(MacAddress::new(format!(
                    "mac-of-{}",
                    self.name_of(interface)
                ))),
                id: self.name_of(interface),
                subnet: SubnetId::from(self.names[&interface.subnet.0].as_str()),
                instance: on(interface).map(|id| InstanceId::from(self.names[&id.0].as_str())),
                attached: interface.attachment.is_some(),
                device_index: interface.attachment.map(|tie| tie.device_index),
                primary: Some(Address::v4(interface.primary)),
                addresses: interface.addresses().map(Address::v4).collect(),
                prefixes: interface.prefixes.iter().copied().map(Cidr::v4).collect(),
                tags: interface.tags.clone(),
                requester_managed: false,
            })
            .collect()
    }

    /// `DescribeInstances` of one instance.
    pub fn state_of(&self, instance: &InstanceId) -> Option<InstanceState> {
        let id = Machine(*self.ids.get(instance.as_str())?);
        Some(match self.ec2.instance(id).ok()?.state {
            Life::Running => InstanceState::Running,
            Life::Stopped => InstanceState::Stopped,
            Life::Terminated => InstanceState::Terminated,
        })
    }

    /// Sets since when the status checks of the machine fail. None: they pass.
    pub fn impair(&mut self, instance: &InstanceId, since: Option<&str>) {
        let id = Machine(self.ids[instance.as_str()]);
        self.ec2
            .set_impaired(id, since.map(ToOwned::to_owned))
            .unwrap();
    }

    /// `DescribeInstanceStatus` of one instance: since when a check fails.
    pub fn impaired_since(&self, instance: &InstanceId) -> Option<String> {
        let id = Machine(*self.ids.get(instance.as_str())?);
        self.ec2.instance(id).ok()?.impaired.clone()
    }

    /// The interface that has the address.
    pub fn holder_of(&self, address: Address) -> Option<InterfaceId> {
        let holder = self
            .shown()
            .find(|interface| interface.has(address.ipv4()))?;
        Some(self.name_of(holder))
    }

    /// The machine that the interface is attached to.
    pub fn instance_of(&self, interface: &InterfaceId) -> Option<InstanceId> {
        let interface = self.ec2.interface(self.id(interface)).ok()?;
        let instance = on(interface)?;
        Some(InstanceId::from(self.names[&instance.0].as_str()))
    }

    /// All secondary addresses, with their interfaces.
    pub fn assigned(&self) -> BTreeSet<(Address, InterfaceId)> {
        let with = |interface: &NetworkInterface| {
            let id = self.name_of(interface);
            let addresses = interface.secondary.clone().into_iter();
            addresses.map(move |address| (Address::v4(address), id.clone()))
        };
        self.shown().flat_map(with).collect()
    }

    fn interfaces_on(&self, instance: &InstanceId) -> impl Iterator<Item = &NetworkInterface> {
        let machine = self.ids.get(instance.as_str()).copied().map(Machine);
        self.shown()
            .filter(move |interface| machine.is_some() && on(interface) == machine)
    }

    /// Is there an interface on this machine that has the address, or has room for it?
    pub fn has_room(&self, instance: &InstanceId, address: Address) -> bool {
        self.interfaces_on(instance).any(|interface| {
            let limit = self.ec2.address_limit(interface).unwrap();
            interface.has(address.ipv4()) || interface.slots() < limit
        })
    }
}

fn on(interface: &NetworkInterface) -> Option<Machine> {
    Some(interface.attachment?.instance)
}
