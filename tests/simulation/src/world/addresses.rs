//! What users want of addresses, and what strangers do with them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ec2_emulator::state::id::NetworkInterfaceId;
use ec2_emulator::state::request::{Change, Changed, Wanted};
use serde_json::{Value, json};

use super::World;

/// An IP that a user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// It is told to go.
    pub deleting: bool,
}

impl World {
    /// A user makes a block of the addresses from `10.0.1.first` to as many as the prefix says.
    pub fn make_block(&mut self, name: &str, first: u8, prefix: u8) {
        let subnet = *self.subnets.values().next().expect("there is one");
        let block = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name},
            "spec": {
                "cidr": format!("10.0.1.{first}/{prefix}"), "subnetID": subnet.to_string(),
                "failoverAfter": "30s",
            },
        });
        self.cluster
            .create("ipblocks", block)
            .expect("a block is made");
        let size = 1_u8 << (32 - prefix);
        self.blocks
            .insert(name.to_owned(), (first, first + size - 1, prefix));
        self.say(format!("block {name} is made at 10.0.1.{first}/{prefix}"));
    }

    /// A user wants an IP; without an address one is allocated.
    pub fn want(&mut self, name: &str, block: &str, address: Option<u8>, reassign: bool) {
        let mut spec = json!({"block": block, "reassign": reassign});
        if let Some(last) = address {
            spec["address"] = json!(format!("10.0.1.{last}"));
        }
        let ip = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name}, "spec": spec,
        });
        match self.cluster.create("ips", ip) {
            Ok(_) => {
                self.wishes.insert(name.to_owned(), Wish::default());
                self.say(format!(
                    "IP {name} is wanted at {address:?}, reassign: {reassign}"
                ));
            }
            Err(why) => self.say(format!("IP {name} is refused: {why}")),
        }
    }

    /// A user wants another address for an IP.
    pub fn edit(&mut self, name: &str, last: u8) {
        let patch = json!({"spec": {"address": format!("10.0.1.{last}")}});
        self.cluster.merge("ips", "", name, patch);
        self.say(format!("IP {name} is to be 10.0.1.{last}"));
    }

    /// A user changes how it moves.
    pub fn set_reassign(&mut self, name: &str, reassign: bool) {
        self.cluster
            .merge("ips", "", name, json!({"spec": {"reassign": reassign}}));
        self.say(format!("IP {name} has reassign: {reassign}"));
    }

    /// A user does not want an IP any more.
    pub fn unwant(&mut self, name: &str) {
        self.cluster.delete("ips", "", name, None);
        if let Some(wish) = self.wishes.get_mut(name) {
            wish.deleting = true;
        }
        self.say(format!("IP {name} is told to go"));
    }

    /// An IP that is told to go and is gone can be made again.
    pub fn gone(&mut self) -> Vec<String> {
        let gone: Vec<String> = self
            .wishes
            .iter()
            .filter(|(name, wish)| wish.deleting && self.cluster.get("ips", "", name).is_none())
            .map(|(name, _)| name.clone())
            .collect();
        self.wishes.retain(|name, _| !gone.contains(name));
        gone
    }

    /// The pods that ask for an IP are made anew.
    pub fn restart_pods_of(&mut self, name: &str) {
        let of = |pod: &super::Pod| {
            self.workloads
                .get(pod.workload)
                .is_some_and(|workload| workload.ip == name)
        };
        let asking = self.pods.iter().filter(|(_, pod)| of(pod));
        let uids: Vec<String> = asking.map(|(uid, _)| uid.clone()).collect();
        for uid in uids {
            self.delete_pod(&uid, false);
        }
    }

    /// A person looks at a block's brake, and lets it go.
    pub fn release_brake(&mut self, block: &str) {
        let patch = json!({"metadata": {"annotations": {"ip.wgtwo.com/release-brake": "yes"}}});
        self.cluster.merge("ipblocks", "", block, patch);
        self.say(format!("the brake of block {block} is released"));
    }

    /// Every pod that has an address, by its UID.
    #[must_use]
    pub fn holders(&self) -> Vec<(String, super::Pod)> {
        let ips = self.cluster.list("ips");
        let held = ips.iter().filter(|ip| ip["status"]["assigned"] == true);
        let uids = held.filter_map(|ip| ip["status"]["podUID"].as_str());
        uids.filter_map(|uid| Some((uid.to_owned(), self.pods.get(uid)?.clone())))
            .collect()
    }

    /// Takes the annotation off a live pod.
    pub fn release(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid) else {
            return;
        };
        let patch = json!({"metadata": {"uid": uid, "annotations": {"ip.wgtwo.com/ip": null}}});
        self.cluster
            .merge("pods", super::NAMESPACE, &pod.name, patch);
        self.say(format!("pod {} wants no address any more", pod.name));
    }

    /// Somebody takes our label off a live pod, past the webhook.
    pub fn unlabel(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid) else {
            return;
        };
        let patch = json!({"metadata": {"uid": uid, "labels": {"ip.wgtwo.com/ip": null}}});
        self.cluster
            .merge("pods", super::NAMESPACE, &pod.name, patch);
        self.log
            .fault(format!("world    pod {} has no label any more", pod.name));
    }

    /// Somebody deletes a reservation by hand.
    pub fn delete_reservation(&mut self, address: &str) {
        self.cluster.delete("ipaddresses", "", address, None);
        self.log
            .fault(format!("world    IPAddress {address} is deleted by hand"));
    }

    /// A stranger puts an address on an interface of theirs, if nothing has it.
    pub fn occupy(&mut self, last: u8) {
        let subnet = *self.subnets.values().next().expect("there is one");
        let address = Ipv4Addr::new(10, 0, 1, last);
        if self.cloud.look(|ec2| ec2.holder(subnet, address).is_some()) {
            return;
        }
        let create = Change::CreateNetworkInterface {
            subnet,
            address: None,
            description: "somebody else's".to_owned(),
            tags: BTreeMap::new(),
        };
        let Ok(Changed::NetworkInterface(interface)) = self.cloud.change(create) else {
            return;
        };
        self.put(interface.id, &[address]);
        self.foreign.push((interface.id.to_string(), address));
        self.log.fault(format!(
            "world    somebody puts {address} on {}",
            interface.id
        ));
    }

    /// A stranger fills a machine's interface with addresses of their own.
    pub fn fill(&mut self, name: &str) {
        let Some((interface, _)) = self
            .machines
            .get(name)
            .and_then(|machine| machine.interface)
        else {
            return;
        };
        let room = self.cloud.look(|ec2| {
            let used = ec2
                .interface(interface)
                .map_or(10, |one| one.addresses().count());
            10_usize.saturating_sub(used)
        });
        let subnet = *self.subnets.values().next().expect("there is one");
        let free = (192..=250_u8).map(|last| Ipv4Addr::new(10, 0, 1, last));
        let free: Vec<Ipv4Addr> = free
            .filter(|address| {
                self.cloud
                    .look(|ec2| ec2.holder(subnet, *address).is_none())
            })
            .take(room)
            .collect();
        self.put(interface, &free);
        let filled = free
            .into_iter()
            .map(|address| (interface.to_string(), address));
        self.foreign.extend(filled);
        self.log.fault(format!(
            "world    somebody fills {interface} of node {name}"
        ));
    }

    fn put(&self, interface: NetworkInterfaceId, addresses: &[Ipv4Addr]) {
        let _ = self.cloud.change(Change::AssignPrivateIpAddresses {
            interface,
            wanted: Wanted::Addresses(addresses.iter().copied().collect()),
            allow_reassignment: false,
        });
    }

    /// Strangers take away what they have put anywhere.
    pub fn strangers_leave(&mut self) {
        for (interface, address) in std::mem::take(&mut self.foreign) {
            if let Ok(interface) = interface.parse() {
                let _ = self.cloud.change(Change::UnassignPrivateIpAddresses {
                    interface,
                    addresses: [address].into(),
                });
            }
        }
        self.say("strangers leave");
    }

    /// The address that an IP has, if it has one.
    #[must_use]
    pub fn address_of(&self, name: &str) -> Option<String> {
        let ip = self.cluster.get("ips", "", name)?;
        ip.pointer("/status/address")
            .and_then(Value::as_str)
            .map(str::to_owned)
    }
}
