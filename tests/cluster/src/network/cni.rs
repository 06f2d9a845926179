//! The network settings of amazon-vpc-cni 1.23 on a node, with SNAT and node ports enabled.

use super::{Backend, World};

impl World {
    pub(super) fn install_cni(&self, node: &str, primary: &str) {
        let iptables = format!("iptables-{}", self.backend);
        self.run(
            node,
            &format!(
                "ip rule add pref 1024 fwmark 0x80/0x80 lookup main
                 {iptables} -t nat -N AWS-SNAT-CHAIN-0
                 {iptables} -t nat -A POSTROUTING -j AWS-SNAT-CHAIN-0
                 {iptables} -t nat -A AWS-SNAT-CHAIN-0 -d 10.77.0.0/24 -j RETURN
                 {iptables} -t nat -A AWS-SNAT-CHAIN-0 ! -o vlan+ -m addrtype ! --dst-type LOCAL -j SNAT --to-source {primary} --random-fully
                 {iptables} -t mangle -A PREROUTING -i eth0 -m addrtype --dst-type LOCAL --limit-iface-in -j CONNMARK --set-mark 0x80/0x80
                 {iptables} -t mangle -A PREROUTING -i eni+ -j CONNMARK --restore-mark --mask 0x80"
            ),
        );
        match self.backend {
            Backend::Nft => self.nft(
                node,
                "table ip aws-cni {
                   chain snat-mark {
                     ip daddr 10.77.0.0/24 return
                     ct mark set ct mark or 0x80
                   }
                   chain nat-prerouting { type nat hook prerouting priority -90; policy accept;
                     fib daddr type local return
                     iifname \"eni*\" counter jump snat-mark
                     ct mark and 0x80 == 0x80 meta mark set ct mark and 0x80
                   }
                 }",
            ),
            Backend::Legacy => {
                self.run(
                    node,
                    &format!(
                        "{iptables} -t nat -N AWS-CONNMARK-CHAIN-0
                         {iptables} -t nat -A PREROUTING -i eni+ -j AWS-CONNMARK-CHAIN-0
                         {iptables} -t nat -A PREROUTING -j CONNMARK --restore-mark --mask 0x80
                         {iptables} -t nat -A AWS-CONNMARK-CHAIN-0 -d 10.77.0.0/24 -j RETURN
                         {iptables} -t nat -A AWS-CONNMARK-CHAIN-0 -j CONNMARK --set-xmark 0x80/0x80"
                    ),
                );
            }
        }
    }

    /// Inserts the jump of the CNI as the first rule again, as after a restart of the CNI.
    pub fn cni_comes_first(&self, node: &str) {
        let iptables = format!("iptables-{}", self.backend);
        self.run(
            node,
            &format!(
                "{iptables} -t nat -D POSTROUTING -j AWS-SNAT-CHAIN-0
                 {iptables} -t nat -I POSTROUTING 1 -j AWS-SNAT-CHAIN-0"
            ),
        );
    }
}
