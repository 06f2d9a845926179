//! The objects of the simulated cluster. No two objects have the same identity.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::core::DynamicObject;
use mooring::api::read;
use mooring_plan::address::Address;
use mooring_plan::cloud::Interface;
use mooring_plan::facts::{Fact, Facts, Kind, Settings};
use mooring_plan::names::{BlockName, InterfaceId, IpName, NodeName, PodUid, SubnetId};
use mooring_plan::objects::{Node, Pod, ReplicaSet, Reservation};
use mooring_plan::time::Instant;
use serde_json::Value;

use super::promises::written_as_read;

/// The time at which all objects are first seen.
pub const BEGIN: Instant = Instant::from_secs(1_000);

/// The state of the API server and of EC2.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub ips: BTreeMap<IpName, DynamicObject>,
    pub blocks: BTreeMap<BlockName, DynamicObject>,
    pub pods: BTreeMap<PodUid, Pod>,
    pub nodes: BTreeMap<NodeName, Node>,
    pub reservations: BTreeMap<Address, Reservation>,
    pub replica_sets: Vec<ReplicaSet>,
    pub interfaces: BTreeMap<InterfaceId, Interface>,
    /// Interfaces that are full, although no inventory shows it.
    pub full: BTreeSet<InterfaceId>,
}

impl Cluster {
    /// Creates the cluster from documents. Unreadable documents are left out, as in a watch.
    pub fn of(documents: Vec<Value>) -> Self {
        let mut cluster = Self::default();
        for document in documents {
            if document["kind"] == "NetworkInterface" {
                cluster.add_interface(&document);
            } else if let Ok(object) = serde_json::from_value(document)
                && is_named(&object)
            {
                cluster.add(object);
            }
        }
        cluster
    }

    fn add(&mut self, object: DynamicObject) {
        let kind = object.types.as_ref().map(|types| types.kind.clone());
        match kind.as_deref().unwrap_or_default() {
            "IP" => self.add_ip(object),
            "IPBlock" => {
                if let Ok(block) = read::block(&object) {
                    self.blocks.entry(block.name).or_insert(object);
                }
            }
            "Pod" => {
                if let Ok(pod) = read::pod(&object)
                    && !self.pods.values().any(|other| other.key == pod.key)
                {
                    self.pods.entry(pod.uid.clone()).or_insert(pod);
                }
            }
            "Node" => {
                if let Ok(node) = read::node(&object) {
                    self.nodes.entry(node.name.clone()).or_insert(node);
                }
            }
            "IPAddress" => {
                if let Ok(reservation) = read::reservation(&object) {
                    self.reservations
                        .entry(reservation.address)
                        .or_insert(reservation);
                }
            }
            "ReplicaSet" => self.replica_sets.extend(read::replica_set(&object).ok()),
            _ => {}
        }
    }

    fn add_ip(&mut self, object: DynamicObject) {
        let meta = &object.metadata;
        let (Some(name), Some(uid)) = (&meta.name, &meta.uid) else {
            return assert!(read::ip(&object).is_err());
        };
        // Two objects never have one UID.
        if self
            .ips
            .values()
            .any(|other| other.metadata.uid.as_ref() == Some(uid))
        {
            return;
        }
        match read::ip(&object) {
            Ok(ip) => written_as_read(&object, &ip.status),
            Err(error) => {
                assert!(error.to_string().contains(name), "{error}");
                if read::unreadable_ip(&object, error.to_string()).is_none() {
                    return;
                }
            }
        }
        self.ips
            .entry(IpName::from(name.as_str()))
            .or_insert(object);
    }

    /// Adds an interface from the short form in the corpus.
    fn add_interface(&mut self, document: &Value) {
        let text = |field: &str| document[field].as_str();
        let Some(id) = text("id").map(InterfaceId::from) else {
            return;
        };
        let address = |value: &Value| value.as_str()?.parse::<Address>().ok();
        let primary = address(&document["primary"]);
        let listed = document["addresses"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(address);
        let interface = Interface {
            id: id.clone(),
            mac: text("mac").map(mooring_plan::names::MacAddress::from),
            subnet: SubnetId::from(text("subnet").unwrap_or("subnet-1")),
            instance: text("instance").map(mooring_plan::names::InstanceId::from),
            attached: document["attached"] != false,
            device_index: document["deviceIndex"]
                .as_u64()
                .and_then(|index| u32::try_from(index).ok()),
            primary,
            addresses: listed.chain(primary).collect(),
            prefixes: Vec::new(),
            tags: serde_json::from_value(document["tags"].clone()).unwrap_or_default(),
            requester_managed: document["requesterManaged"] == true,
        };
        // In EC2 an address is on one interface only.
        for other in self.interfaces.values_mut() {
            other
                .addresses
                .retain(|address| !interface.addresses.contains(address));
            other.primary = other
                .primary
                .filter(|primary| !interface.addresses.contains(primary));
        }
        if document["full"] == true {
            self.full.insert(id.clone());
        }
        self.interfaces.entry(id).or_insert(interface);
    }

    /// The fact of a watch event of an `IP`.
    pub fn ip_fact(&self, name: &IpName) -> Option<Fact> {
        let object = self.ips.get(name)?;
        Some(match read::ip(object) {
            Ok(ip) => Fact::Ip(ip),
            Err(error) => Fact::IpUnreadable(read::unreadable_ip(object, error.to_string())?),
        })
    }

    /// The fact of a watch event of a block.
    pub fn block_fact(&self, name: &BlockName) -> Option<Fact> {
        read::block(self.blocks.get(name)?).ok().map(Fact::Block)
    }

    /// The facts after all objects were shown, in normal or reverse order.
    pub fn facts(&self, backwards: bool) -> Facts {
        let mut facts = Facts::new(Settings {
            inventory_interval: Duration::from_secs(30),
        });
        let mut shown: Vec<Fact> = Vec::new();
        shown.extend(self.ips.keys().filter_map(|name| self.ip_fact(name)));
        shown.extend(self.blocks.keys().filter_map(|name| self.block_fact(name)));
        shown.extend(self.pods.values().cloned().map(Fact::Pod));
        shown.extend(self.nodes.values().cloned().map(Fact::Node));
        let ours = self
            .reservations
            .values()
            .filter(|reservation| reservation.managed);
        shown.extend(ours.cloned().map(Fact::Reservation));
        shown.extend(Kind::ALL.map(Fact::Synced));
        if backwards {
            shown.reverse();
        }
        for fact in shown {
            facts.apply(fact, BEGIN, BEGIN);
        }
        facts
    }
}

/// Is the name possible in the API server?
fn is_named(object: &DynamicObject) -> bool {
    let meta = &object.metadata;
    let mut names = [&meta.name, &meta.namespace].into_iter().flatten();
    names.all(|name| !name.is_empty() && !name.contains('/'))
}
