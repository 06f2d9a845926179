//! Rules of other programs that take all packets of a pod before the rules of Mooring.

use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};

use crate::node::settings::PROTOCOL;

/// What such a rule selects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Diverting {
    /// All packets from an interface: the AWS VPC CNI has such rules for pods with a security group, in the mode `strict`.
    Interface {
        /// The table of the rule.
        table: u32,
        /// The interface.
        name: String,
    },
    /// All packets with the address of a pod as their source. Cilium has such rules in ENI mode, priority 111
    /// (`RulePriorityEgressv2` of cilium/cilium), unless it masquerades.
    Source(Ipv4Addr),
}

/// Reads a rule that comes before those of Mooring, whose priority is `priority`. None: another rule.
pub(super) fn read_diverting(rule: &RuleMessage, priority: u32) -> Option<Diverting> {
    let (mut its_priority, mut interface, mut source) = (0, None, None);
    let mut table = u32::from(rule.header.table);
    // A rule that looks at more takes only some of the packets.
    let header = &rule.header;
    let mut all = header.action == RuleAction::ToTable && header.flags.is_empty();
    all &= header.dst_len == 0;
    for attribute in &rule.attributes {
        match attribute {
            RuleAttribute::Priority(value) => its_priority = *value,
            RuleAttribute::Iifname(name) => interface = Some(name.clone()),
            RuleAttribute::Source(IpAddr::V4(address)) => source = Some(*address),
            RuleAttribute::Table(value) => table = *value,
            RuleAttribute::Protocol(protocol) => all &= u8::from(*protocol) != PROTOCOL,
            RuleAttribute::FwMark(_) => all = false,
            _ => {}
        }
    }
    match (interface, source, header.src_len) {
        _ if !all || its_priority >= priority => None,
        (Some(name), None, 0) => Some(Diverting::Interface { table, name }),
        (None, Some(address), 32) => Some(Diverting::Source(address)),
        _ => None,
    }
}
