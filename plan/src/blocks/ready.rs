//! The condition `Ready` of a block.
//! Rules: R3.6, R3.10, R5.35.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::finding::Finding;
use crate::address::overlap;
use crate::block::{CHECK_ACCOUNT, CREATE_AGAIN};
use crate::decide::not_permitted;
use crate::facts::{Facts, SubnetFacts};
use crate::names::listed;
use crate::objects::{Block, BlockSpec, Ip, Node, READY};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;

impl Facts {
    /// What a block that is being deleted waits for, and what to do. None: it is not being deleted.
    pub(super) fn deletion(&self, block: &Block, spec: &BlockSpec, ips: &[&Ip]) -> Option<String> {
        if !block.deleting {
            return None;
        }
        let of_ip = |address| ips.iter().any(|ip| ip.addresses().any(|it| it == address));
        let within = self.reservations.within(spec.range.cidr());
        let without_ip = within.filter(|it| it.managed && !of_ip(it.address));
        let ips = ips.iter().map(|ip| format!("IP {}", ip.name));
        let left: Vec<String> = ips
            .chain(without_ip.map(|it| format!("IPAddress {}", it.address)))
            .collect();
        let waits = if left.is_empty() {
            "It waits for the finalizers of others".to_string()
        } else {
            format!(
                "It waits until these are gone: {}. Delete the IPs that are not being deleted. The conditions of the \
                 others say what they wait for",
                listed(left)
            )
        };
        Some(format!(
            "the block is being deleted, and no further address of it is reserved. {waits}"
        ))
    }

    /// What to do if EC2 does not permit to ask for the limits of these nodes' interfaces.
    pub(super) fn limits_not_permitted(&self, carriers: &[(&Node, bool)]) -> Option<String> {
        let nodes = carriers.iter();
        let types = nodes.filter_map(|(node, _)| node.instance_type.as_ref());
        let sentence = not_permitted(
            Action::DescribeInstanceTypes,
            "",
            self.limits_denied(types)?,
        );
        Some(format!(
            "{sentence}. Until then it is not known that an interface is full before EC2 refuses an address"
        ))
    }
}

/// True if addresses of the block can be reserved.
pub(super) fn is_ready(block: &Block, spec: &BlockSpec, subnet: Option<&SubnetFacts>) -> bool {
    ready(block, spec, subnet, None, &[]).on
}

/// The condition `Ready`: true if addresses of the block can be reserved. Otherwise its message says what to do.
/// `deletion` is what the deletion of the block waits for. `unsolved` is what to do about problems that do not prevent
/// that addresses are reserved.
pub(super) fn ready(
    block: &Block,
    spec: &BlockSpec,
    subnet: Option<&SubnetFacts>,
    deletion: Option<String>,
    unsolved: &[Option<String>],
) -> Finding {
    let not = |reason, message: String, with_event| Finding {
        kind: READY,
        on: false,
        reason,
        message,
        with_event,
    };
    let id = &spec.subnet;
    let unread = subnet.and_then(|subnet| Some(subnet.unread.as_ref()?.outcome));
    let inventory = subnet.and_then(|subnet| Some(subnet.failed.as_ref()?.outcome));
    let denied = [
        (Action::DescribeSubnets, unread),
        (Action::DescribeInterfaces, inventory),
    ];
    let denied = denied
        .into_iter()
        .find_map(|(action, outcome)| Some((action, outcome.filter(|it| it.is_denial())?)));
    if unread == Some(Outcome::SubnetNotFound) {
        let message = format!(
            "EC2 knows no subnet {id} in this account and region: {CHECK_ACCOUNT}. Until EC2 knows it no address of \
             the block moves, and none is released. Only if spec.subnetID itself is wrong: {CREATE_AGAIN}"
        );
        return not(Reason::SubnetNotFound, message, true);
    }
    if let Some((action, outcome)) = denied {
        let sentence = not_permitted(action, "", outcome);
        let message = format!("{sentence}. Until then it is not known what is in subnet {id}");
        return not(Reason::AccessDenied, message, true);
    }
    let Some((subnet, _)) = subnet.and_then(SubnetFacts::looked_at) else {
        let no_failed_read = subnet.is_none_or(|subnet| !subnet.last_read_failed());
        if let Some(before) = Finding::before(block, READY).filter(|_| no_failed_read) {
            return before;
        }
        let message = format!(
            "EC2 has not answered yet for subnet {id}: if this stays, check the subnet's id and the controller's \
             permissions ec2:{} and ec2:{}",
            Action::DescribeSubnets,
            Action::DescribeInterfaces
        );
        return not(Reason::Waiting, message, false);
    };
    let range = spec.range.cidr();
    if !subnet.cidrs.iter().any(|cidr| overlap(*cidr, range)) {
        let message =
            format!("{range} is not in subnet {id}: correct spec.cidr, or {CREATE_AGAIN}");
        return not(Reason::SubnetMismatch, message, true);
    }
    let (on, reason) = match deletion {
        Some(_) => (false, Reason::Waiting),
        None => (true, Reason::Ready),
    };
    let mut message = deletion.unwrap_or_else(|| format!("addresses of {range} can be reserved"));
    for problem in unsolved.iter().flatten() {
        message = format!("{message}. {problem}");
    }
    Finding {
        kind: READY,
        on,
        reason,
        message,
        with_event: false,
    }
}
