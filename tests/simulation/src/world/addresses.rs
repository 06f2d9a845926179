//! The blocks and IPs of users, and what persons change of them and of the pods that hold an address.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::World;

/// An IP that a user wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesiredIp {
    /// The block of the IP.
    pub block: String,
    /// Whether the IP is being deleted.
    pub deleting: bool,
}

/// The addresses of a block: `10.0.third.first` to `10.0.third.last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The third byte of the addresses, which identifies the subnet.
    pub third: u8,
    /// The last byte of the first address.
    pub first: u8,
    /// The length of the prefix, which determines the number of addresses.
    pub prefix: u8,
}

impl Range {
    /// All addresses.
    pub fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        let size = 1_u16 << (32 - self.prefix);
        let lasts = u16::from(self.first)..u16::from(self.first) + size;
        let lasts = lasts.filter_map(|last| u8::try_from(last).ok());
        lasts.map(move |last| Ipv4Addr::new(10, 0, self.third, last))
    }
}

impl World {
    /// A user makes a block.
    pub fn make_block(&mut self, name: &str, range: Range) {
        let Range {
            third,
            first,
            prefix,
        } = range;
        let cidr = format!("10.0.{third}.{first}/{prefix}");
        let subnet = self.subnets[&third];
        let mut block = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name},
            "spec": {
                "cidr": cidr, "subnetID": subnet.to_string(),
                "failoverAfter": "30s", "allowedNamespaces": [super::NAMESPACE],
            },
        });
        if self.shape.node_part {
            block["spec"]["node"] = json!({"routes": [{"to": "198.51.100.0/24"}]});
        }
        if self.shape.fast {
            block["spec"]["fastFailover"] = json!(true);
        }
        self.cluster
            .create("ipblocks", block)
            .expect("a block is made");
        self.blocks.insert(name.to_owned(), range);
        self.note(format!("block {name} is made at {cidr}"));
    }

    /// A user deletes a block, also if it has IPs. It is created again when it is gone.
    pub fn delete_block(&mut self, name: &str) {
        self.cluster.delete("ipblocks", "", name, None);
        self.leaving.insert(name.to_owned());
        self.log
            .fault(format!("world    block {name} is being deleted"));
    }

    /// Users no longer want an address of that block.
    pub fn empty_block(&mut self, block: &str) {
        let of = |desired: &DesiredIp| desired.block == block && !desired.deleting;
        let desired_ips = self.desired_ips.iter().filter(|(_, desired)| of(desired));
        let names: Vec<String> = desired_ips.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.unwant(&name);
        }
    }

    /// Creates deleted blocks again when they are gone.
    pub fn renew_blocks(&mut self) {
        let gone = |name: &&String| self.cluster.get("ipblocks", "", name).is_none();
        let gone: Vec<String> = self.leaving.iter().filter(gone).cloned().collect();
        for name in gone {
            self.leaving.remove(&name);
            let range = self.blocks[&name];
            self.make_block(&name, range);
        }
    }

    /// A user wants an IP; without an address one is allocated.
    pub fn want(&mut self, name: &str, block: &str, address: Option<Ipv4Addr>, reassign: bool) {
        let mut spec = json!({"block": block, "reassign": reassign, "allowedNamespaces": ["*"]});
        if let Some(address) = address {
            spec["address"] = json!(address);
        }
        let ip = json!({
            "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name}, "spec": spec,
        });
        match self.cluster.create("ips", ip) {
            Ok(_) => {
                let desired = DesiredIp {
                    block: block.to_owned(),
                    deleting: false,
                };
                self.desired_ips.insert(name.to_owned(), desired);
                self.note(format!(
                    "IP {name} is wanted at {address:?}, reassign: {reassign}"
                ));
            }
            Err(why) => self.note(format!("IP {name} is refused: {why}")),
        }
    }

    /// A user wants another address for an IP.
    pub fn edit(&mut self, name: &str, address: Ipv4Addr) {
        let patch = json!({"spec": {"address": address}});
        self.cluster.merge("ips", "", name, patch);
        self.note(format!("IP {name} is to be {address}"));
    }

    /// A user changes `spec.reassign` of an IP.
    pub fn set_reassign(&mut self, name: &str, reassign: bool) {
        self.cluster
            .merge("ips", "", name, json!({"spec": {"reassign": reassign}}));
        self.note(format!("IP {name} has reassign: {reassign}"));
    }

    /// A user no longer wants an IP.
    pub fn unwant(&mut self, name: &str) {
        self.cluster.delete("ips", "", name, None);
        if let Some(desired) = self.desired_ips.get_mut(name) {
            desired.deleting = true;
        }
        self.note(format!("IP {name} is being deleted"));
    }

    /// The deleted IPs that are gone and can be created again, because their block exists: name and block.
    pub fn gone(&mut self) -> Vec<(String, String)> {
        let gone = |name: &str, desired: &DesiredIp| {
            desired.deleting
                && !self.leaving.contains(&desired.block)
                && self.cluster.get("ips", "", name).is_none()
        };
        let desired_ips = self
            .desired_ips
            .iter()
            .filter(|(name, desired)| gone(name, desired));
        let gone: Vec<(String, String)> = desired_ips
            .map(|(name, desired)| (name.clone(), desired.block.clone()))
            .collect();
        for (name, _) in &gone {
            self.desired_ips.remove(name);
        }
        gone
    }

    /// The pods that ask for an IP are created again.
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

    /// A person releases the brake of a block.
    pub fn release_brake(&mut self, block: &str) {
        let patch = json!({"metadata": {"annotations": {"ip.wgtwo.com/release-brake": "yes"}}});
        self.cluster.merge("ipblocks", "", block, patch);
        let text = format!("manual   the brake of block {block} is released");
        self.log.manual_change(text);
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

    /// Removes the annotation of a running pod.
    pub fn release(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid) else {
            return;
        };
        let patch = json!({"metadata": {"uid": uid, "annotations": {"ip.wgtwo.com/ip": null}}});
        self.cluster
            .merge("pods", super::NAMESPACE, &pod.name, patch);
        self.note(format!("pod {} wants no address now", pod.name));
    }

    /// The label of a running pod is removed, without the webhook.
    pub fn unlabel(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid) else {
            return;
        };
        let patch = json!({"metadata": {"uid": uid, "labels": {"ip.wgtwo.com/ip": null}}});
        self.cluster
            .merge("pods", super::NAMESPACE, &pod.name, patch);
        self.log
            .fault(format!("world    pod {} lost its label", pod.name));
    }

    /// A person deletes a reservation.
    pub fn delete_reservation(&mut self, address: &str) {
        self.cluster.delete("ipaddresses", "", address, None);
        self.log
            .fault(format!("world    IPAddress {address} is deleted by hand"));
    }

    /// The address of an IP. None: it has none.
    #[must_use]
    pub fn address_of(&self, name: &str) -> Option<String> {
        let ip = self.cluster.get("ips", "", name)?;
        ip.pointer("/status/address")
            .and_then(Value::as_str)
            .map(str::to_owned)
    }
}
