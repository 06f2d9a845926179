//! Newly created objects. A test changes the fields that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::block::BlockRange;
use mooring_plan::cloud::Interface;
use mooring_plan::names::{
    BlockName, DeploymentUid, InstanceId, InstanceType, InterfaceId, IpName, IpUid, MacAddress,
    NodeName, PodKey, PodUid, ReplicaSetUid, ResourceVersion, SubnetId,
};
use mooring_plan::objects::{
    Block, BlockSpec, BlockStatus, Controller, DataPath, DesiredIp, Handover, Ip, IpStatus,
    Namespaces, Node, Pod, ReplicaSet, Reservation,
};

/// The subnet of every block.
pub const SUBNET: &str = "subnet-1";

/// The version of an object that was never changed.
const FIRST: ResourceVersion = ResourceVersion(1);

pub fn address(text: &str) -> Address {
    text.parse().unwrap()
}

/// The address that comes this many addresses after `first`.
pub fn address_after(first: &str, number: u32) -> Address {
    Address::v4(u32::from(address(first).ipv4()) + number)
}

/// The key of a pod; all of them are in one namespace.
pub fn key(name: &str) -> PodKey {
    PodKey::new("default", name)
}

/// The instance behind a node.
pub fn instance_of(node: &str) -> InstanceId {
    InstanceId::new(format!("i-{node}"))
}

/// The interface of a node.
pub fn interface_of(node: &str) -> InterfaceId {
    InterfaceId::new(format!("eni-{node}"))
}

/// The tag of an interface that the CNI does not use.
pub fn unmanaged() -> BTreeMap<String, String> {
    BTreeMap::from([(
        "node.k8s.amazonaws.com/no_manage".to_owned(),
        "true".to_owned(),
    )])
}

/// A block of this range.
pub fn block(name: &str, cidr: &str) -> Block {
    let spec = BlockSpec {
        range: BlockRange::parse(cidr, []).unwrap(),
        subnet: SubnetId::from(SUBNET),
        node_selector: None,
        interface_tags: BTreeMap::new(),
        allowed_namespaces: Namespaces::All,
        failover_after: Duration::from_secs(30),
        fast_failover: false,
        data_path: DataPath::Foreign,
        probe: false,
    };
    Block {
        name: BlockName::from(name),
        uid: name.to_owned(),
        version: FIRST,
        generation: 1,
        deleting: false,
        finalizer: true,
        spec: Ok(spec),
        release_brake: false,
        status: BlockStatus::default(),
    }
}

/// A Node that is ready, on its instance.
pub fn node(name: &str) -> Node {
    Node {
        name: NodeName::from(name),
        uid: format!("uid-of-{name}"),
        version: FIRST,
        created: 1_000,
        instance: Some(instance_of(name)),
        instance_type: Some(InstanceType::from("m5.large")),
        boot: None,
        ready: true,
        unreachable: false,
        out_of_service: false,
        our_taint: false,
        labels: BTreeMap::new(),
    }
}

/// An interface of a node in the subnet, as EC2 shows it.
pub fn interface(node: &str, primary: Address) -> Interface {
    Interface {
        id: interface_of(node),
        mac: Some(MacAddress::new(format!("mac-of-{}", interface_of(node)))),
        subnet: SubnetId::from(SUBNET),
        instance: Some(instance_of(node)),
        attached: true,
        device_index: Some(1),
        primary: Some(primary),
        addresses: BTreeSet::from([primary]),
        prefixes: Vec::new(),
        tags: unmanaged(),
        requester_managed: false,
    }
}

/// A spec that asks for an address, for pods of all namespaces.
pub fn desired(address: Address) -> DesiredIp {
    DesiredIp {
        address: Some(address),
        allowed_namespaces: Namespaces::All,
        ..DesiredIp::default()
    }
}

/// A new IP without a status.
pub fn ip(name: &str, uid: impl Into<String>, desired: DesiredIp) -> Ip {
    Ip {
        name: IpName::from(name),
        uid: IpUid::new(uid.into()),
        version: FIRST,
        generation: 1,
        deleting: false,
        finalizer: false,
        desired: Ok(desired),
        take_from: None,
        status: IpStatus::default(),
    }
}

/// A pod that admission has changed and that is bound to no node. It asks for this IP of this UID.
pub fn pod(name: &str, uid: impl Into<String>, ip: &str, of: Option<IpUid>) -> Pod {
    Pod {
        uid: PodUid::new(uid.into()),
        key: key(name),
        version: FIRST,
        created: 1,
        node: None,
        ended: false,
        deleting: None,
        annotated: true,
        label: Some(IpName::from(ip)),
        ip: of,
        gated: true,
        gate: None,
        unready_gates: BTreeSet::new(),
        containers_ready: false,
        containers_running: false,
        handover: Handover::ContainersReady,
        controller: None,
    }
}

/// A `ReplicaSet` of a Deployment.
pub fn replica_set(name: &str, revision: u64, deployment: &str, replicas: u64) -> ReplicaSet {
    ReplicaSet {
        uid: uid_of_set(name),
        deployment: Some(DeploymentUid::from(deployment)),
        revision,
        replicas,
    }
}

/// The controller reference of a pod of this `ReplicaSet`.
pub fn of_replica_set(name: &str) -> Controller {
    Controller::ReplicaSet(name.to_owned(), uid_of_set(name))
}

fn uid_of_set(name: &str) -> ReplicaSetUid {
    ReplicaSetUid::new(format!("{name}-uid"))
}

/// The reservation that Mooring makes for an IP.
pub fn reservation(uid: &str, address: Address, ip: &IpName, of: &IpUid) -> Reservation {
    Reservation {
        finalizer: true,
        label: Some(of.clone()),
        owner: Some(of.clone()),
        managed: true,
        ..reservation_of_others(uid, address, Some(ip))
    }
}

/// A reservation without the label of Mooring: of an IP of this name, or of a Service.
pub fn reservation_of_others(uid: &str, address: Address, ip: Option<&IpName>) -> Reservation {
    Reservation {
        address,
        uid: uid.to_owned(),
        version: FIRST,
        deleting: false,
        finalizer: false,
        parent: ip.cloned(),
        parent_text: ip.map_or("Service default/db".to_owned(), |name| format!("IP {name}")),
        label: None,
        owner: None,
        managed: false,
    }
}
