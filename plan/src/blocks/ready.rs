//! The condition `Ready` of a block.
//! Rules: R3.6, R3.10, R5.35.

use alloc::format;
use alloc::string::String;

use super::finding::Finding;
use crate::address::overlap;
use crate::block::{CHECK_ACCOUNT, CREATE_AGAIN};
use crate::decide::not_permitted;
use crate::facts::{Facts, SubnetFacts};
use crate::objects::{Block, BlockSpec, Node, READY};
use crate::outcome::{Action, Outcome};
use crate::reason::Reason;

impl Facts {
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

/// True if pods can be scheduled for the addresses of the block. A block that is being deleted serves the IPs that it has.
/// When its finalizer is gone, its labels were removed: no other step would remove one that is added then.
pub(super) fn is_ready(block: &Block, spec: &BlockSpec, subnet: Option<&SubnetFacts>) -> bool {
    (!block.deleting || block.finalizer) && ready(block, spec, subnet, None, &[]).on
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
