//! The router of the VPC, the partners, and the assignment of addresses to ENIs.

use std::collections::BTreeSet;

use super::inside::shell;
use super::{PARTNER, SECOND_GATEWAY, SECOND_PARTNER, World};

/// The port of the subnet that an interface of a node is connected to.
fn port(node: &str, interface: &str) -> String {
    let letter = if interface == "eth1" { 'e' } else { 'f' };
    format!("{letter}{node}")
}

impl World {
    /// The bridges have addresses of their own: otherwise a bridge takes the one of a new interface, and loses its
    /// neighbours.
    pub(super) fn make_vpc(&self) {
        let (vpc, partner, gateway) =
            (self.name("vpc"), self.name("partner"), self.name("gateway"));
        shell(&format!(
            "ip -n {vpc} link add br0 address 02:00:00:00:ff:00 type bridge
             ip -n {vpc} link add br1 address 02:00:00:00:ff:01 type bridge
             ip -n {vpc} addr add 10.77.0.1/24 dev br0
             ip -n {vpc} addr add 203.0.113.1/24 dev br1
             ip -n {vpc} link set br0 up
             ip -n {vpc} link set br1 up
             ip -n {vpc} link add out type veth peer name eth0 netns {partner}
             ip -n {vpc} addr add 198.51.100.1/24 dev out
             ip -n {vpc} link set out up
             ip -n {partner} addr add {PARTNER}/24 dev eth0
             ip -n {partner} link set eth0 up
             ip -n {partner} route add default via 198.51.100.1
             ip -n {vpc} link add second type veth peer name eth0 netns {gateway}
             ip -n {vpc} link set second master br1 up
             ip -n {gateway} addr add {SECOND_GATEWAY}/24 dev eth0
             ip -n {gateway} addr add {SECOND_PARTNER}/32 dev lo
             ip -n {gateway} link set eth0 up
             ip -n {gateway} route add default via 203.0.113.1"
        ));
        self.run("vpc", "echo 1 > /proc/sys/net/ipv4/ip_forward");
        self.nft(
            "vpc",
            "table netdev ec2 {
               set refused { type ifname . ipv4_addr . ipv4_addr; flags dynamic; size 1000; }
             }",
        );
        self.nft(
            "partner",
            "table ip firewall {
               set whitelist { type ipv4_addr; }
               set seen { type ipv4_addr; flags dynamic; size 1000; }
               set details { typeof ip saddr . meta l4proto . th sport . th dport; flags dynamic; size 9000; }
               set bits { typeof ip saddr . tcp flags; flags dynamic; size 1000; }
               chain in { type filter hook input priority 0; policy accept;
                 iifname lo accept
                 icmp type { destination-unreachable, redirect, time-exceeded } accept
                 add @seen { ip saddr }
                 ip saddr != @whitelist meta l4proto tcp add @bits { ip saddr . tcp flags }
                 ip saddr != @whitelist add @details { ip saddr . meta l4proto . th sport . th dport }
                 ip saddr != @whitelist drop
               }
             }",
        );
    }

    /// Loads nftables rules.
    pub fn nft(&self, name: &str, rules: &str) {
        self.run(name, &format!("nft -f - <<'END'\n{rules}\nEND"));
    }

    /// Connects an interface of a node to a subnet, with a check of the source addresses of its packets.
    pub(super) fn connect(&self, node: &str, interface: &str, subnet: &str, port: &str) {
        let (vpc, node) = (self.name("vpc"), self.name(node));
        shell(&format!(
            "ip -n {vpc} link add {port} type veth peer name {interface} netns {node}
             ip -n {vpc} link set {port} master {subnet} up
             ip -n {node} link set {interface} up"
        ));
        self.nft(
            "vpc",
            &format!(
                "table netdev ec2 {{
                   set {port} {{ type ipv4_addr; }}
                   chain {port} {{ type filter hook ingress device \"{port}\" priority 0;
                     ip saddr @{port} accept
                     meta protocol ip add @refused {{ iifname . ip saddr . ip daddr }} drop
                   }}
                 }}"
            ),
        );
    }

    /// Allows an ENI to send from an address.
    pub(super) fn allow(&self, port: &str, address: &str) {
        self.run(
            "vpc",
            &format!("nft add element netdev ec2 {port} {{ {address} }}"),
        );
    }

    /// Simulates `AssignPrivateIpAddresses`: the ENI receives the packets for the address, and may send from it.
    pub fn assign(&self, address: &str, node: &str) {
        self.assign_to(address, node, "eth1");
    }

    /// As `assign`, for an interface with a name other than eth1.
    pub fn assign_to(&self, address: &str, node: &str, interface: &str) {
        let (port, mac) = (port(node, interface), self.mac(node, interface));
        self.allow(&port, address);
        self.run(
            "vpc",
            &format!("ip neigh replace {address} lladdr {mac} dev br1 nud permanent"),
        );
        self.run(
            "gateway",
            &format!("ip neigh replace {address} lladdr {mac} dev eth0 nud permanent"),
        );
    }

    /// Detaches the second ENI and attaches another one, which is eth2 on the node.
    pub fn replace_eni(&self, node: &str) {
        self.run(
            "vpc",
            &format!("nft delete chain netdev ec2 e{node}; nft delete set netdev ec2 e{node}"),
        );
        self.run(node, "ip link del eth1");
        self.add_eni(node);
    }

    /// Attaches a third ENI, which is eth2 on the node.
    pub fn add_eni(&self, node: &str) {
        let port = port(node, "eth2");
        self.connect(node, "eth2", "br1", &port);
        self.allow(&port, "203.0.113.7");
        self.run(node, "ip addr add 203.0.113.7/24 dev eth2");
    }

    /// Simulates `UnassignPrivateIpAddresses`.
    pub fn unassign(&self, address: &str, node: &str) {
        self.run(
            "vpc",
            &format!("nft delete element netdev ec2 e{node} {{ {address} }}"),
        );
        self.run("vpc", &format!("ip neigh del {address} dev br1"));
        self.run("gateway", &format!("ip neigh del {address} dev eth0"));
    }

    /// Makes the router deliver the address to the node `now`, to which EC2 has assigned it. `on` is the node to which
    /// it delivered before, and is updated.
    pub fn deliver(&self, address: &str, on: &mut Option<&'static str>, now: Option<&'static str>) {
        if *on == now {
            return;
        }
        if let Some(before) = on.take() {
            self.unassign(address, before);
        }
        if let Some(now) = now {
            self.assign(address, now);
        }
        *on = now;
    }

    /// Allows connections from an address to the partner.
    pub fn whitelist(&self, address: &str) {
        self.run(
            "partner",
            &format!("nft add element ip firewall whitelist {{ {address} }}"),
        );
    }

    /// The sources that the partner has seen.
    pub fn partner_saw(&self) -> BTreeSet<String> {
        self.elements("partner", "ip firewall seen")
    }

    /// Interface, source and destination of packets that nodes sent with a source that the interface does not have.
    pub fn refused(&self) -> BTreeSet<String> {
        self.elements("vpc", "netdev ec2 refused")
    }

    /// The elements of a set of nftables.
    pub fn elements(&self, name: &str, set: &str) -> BTreeSet<String> {
        let listing = self.run(name, &format!("nft -j list set {set}"));
        let listing: serde_json::Value = serde_json::from_str(&listing).unwrap();
        let objects = listing["nftables"].as_array().unwrap();
        let set = objects.iter().find_map(|object| object.get("set")).unwrap();
        let elements = set.get("elem").and_then(|elements| elements.as_array());
        elements
            .into_iter()
            .flatten()
            .map(|element| match element.as_str() {
                Some(text) => text.to_owned(),
                None => element.to_string(),
            })
            .collect()
    }

    /// The MAC of an interface.
    pub fn mac(&self, name: &str, interface: &str) -> String {
        let shown = self.run(name, &format!("ip -j link show {interface}"));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown[0]["address"].as_str().unwrap().to_owned()
    }

    /// Fails if the router saw a packet with a source that its interface does not have, or if the partner saw a source
    /// that is not one of these.
    pub fn expect_sources(&self, sources: &[&str]) {
        assert_eq!(
            self.refused(),
            BTreeSet::new(),
            "packets that EC2 would drop"
        );
        let saw = self.partner_saw();
        let wrong: Vec<_> = saw
            .iter()
            .filter(|source| !sources.contains(&source.as_str()))
            .collect();
        assert!(
            wrong.is_empty(),
            "the partner saw {wrong:?}, and only {sources:?} are right\n{}",
            self.run(
                "partner",
                "nft list set ip firewall bits; nft list set ip firewall details"
            )
        );
    }
}
