//! A node with its pods.

use std::sync::atomic::Ordering;

use super::World;

/// A node with two ENIs: eth0, and eth1 in the subnet of the static addresses.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    /// The VPC of the node.
    pub world: &'a World,
    /// Its name.
    pub name: &'static str,
    /// The last number of its addresses.
    number: u32,
}

impl World {
    /// Makes a node with a primary ENI and one in the subnet of the static addresses.
    pub fn node(&self, name: &'static str) -> Node<'_> {
        let number = self.nodes.fetch_add(1, Ordering::Relaxed);
        let node = Node {
            world: self,
            name,
            number,
        };
        let (primary, other) = (node.primary(), format!("203.0.113.{}", 5 + number));
        self.make(name);
        self.connect(name, "eth0", "br0", &format!("p{name}"));
        self.connect(name, "eth1", "br1", &format!("e{name}"));
        self.allow(&format!("p{name}"), &primary);
        self.allow(&format!("e{name}"), &other);
        self.run(
            name,
            &format!(
                "ip addr add {primary}/24 dev eth0
                 ip addr add {other}/24 dev eth1
                 ip route add default via 10.77.0.1 dev eth0
                 echo 1 > /proc/sys/net/ipv4/ip_forward
                 echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
                 echo 2 > /proc/sys/net/ipv4/conf/eth0/rp_filter
                 echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter"
            ),
        );
        self.install_cni(name, &primary);
        node
    }
}

impl Node<'_> {
    /// Its address in the VPC.
    pub fn primary(&self) -> String {
        format!("10.77.0.{}", 10 + self.number)
    }

    /// Makes a pod as the CNI does: a veth pair, a route and a rule. The pod answers at its address.
    pub fn pod(&self, pod: &str, address: &str) {
        self.world.make(pod);
        self.plug(pod, address);
        self.world.serve(pod, address);
    }

    /// Connects the namespace of a pod.
    pub fn plug(&self, pod: &str, address: &str) {
        let world = self.world;
        let (inner, host) = (world.name(pod), format!("eni{pod}"));
        world.run(
            self.name,
            // Set this before the first ARP request of the pod, which is repeated only after 1 s. Otherwise answers for
            // another address come after a random delay of up to 0.8 s.
            &format!(
                "ip link add {host} type veth peer name eth0 netns {inner}
                 echo 1 > /proc/sys/net/ipv4/conf/{host}/proxy_arp
                 echo 0 > /proc/sys/net/ipv4/neigh/{host}/proxy_delay
                 ip link set {host} up
                 ip route add {address}/32 dev {host} scope link
                 ip rule add pref 512 to {address} lookup main
                 ip -n {inner} link set eth0 up
                 ip -n {inner} addr add {address}/32 dev eth0
                 ip -n {inner} route add 169.254.1.1 dev eth0 scope link
                 ip -n {inner} route add default via 169.254.1.1"
            ),
        );
        world.run(
            "vpc",
            &format!("ip route replace {address}/32 via {}", self.primary()),
        );
        world.allow(&format!("p{}", self.name), address);
    }

    /// Ends a pod: removes its interface, its route and its rule.
    pub fn end_pod(&self, pod: &str, address: &str) {
        self.run(&format!(
            "ip link del eni{pod}; ip rule del pref 512 to {address} lookup main"
        ));
    }

    /// Runs a shell command on the node.
    pub fn run(&self, command: &str) -> String {
        self.world.run(self.name, command)
    }
}
