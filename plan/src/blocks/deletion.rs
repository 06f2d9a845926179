//! What a block that is being deleted waits for.
//! Rules: R3.6, R5.35.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::facts::Facts;
use crate::names::listed;
use crate::objects::{Block, BlockSpec, Ip};

impl Facts {
    /// What a block that is being deleted waits for, and what to do. None: it is not being deleted.
    pub(super) fn deletion(&self, block: &Block, spec: &BlockSpec, ips: &[&Ip]) -> Option<String> {
        if !block.deleting {
            return None;
        }
        let (leaving, staying): (Vec<&Ip>, Vec<&Ip>) = ips.iter().partition(|ip| ip.deleting);
        let names: BTreeSet<_> = ips.iter().map(|ip| &ip.name).collect();
        let others: Vec<String> = self
            .reservations
            .within(spec.range.cidr())
            .filter(|it| it.managed && it.parent.as_ref().is_none_or(|ip| !names.contains(ip)))
            .map(|it| format!("{} ({})", it.address, it.parent_text))
            .collect();
        // What a person must do comes first.
        let mut left: Vec<String> = [
            (
                "These IPs of it are not being deleted: delete them",
                named(&staying),
            ),
            (
                "It waits for these IPs, whose conditions say what they wait for",
                named(&leaving),
            ),
            ("It waits for these IPAddress objects", others),
        ]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", listed(names)))
        .collect();
        if left.is_empty() {
            left.push("It waits for finalizers of others".to_string());
        }
        Some(format!(
            "the block is being deleted, and no further IP gets an address of it. {}",
            left.join(". ")
        ))
    }
}

fn named(ips: &[&Ip]) -> Vec<String> {
    ips.iter().map(|ip| ip.name.to_string()).collect()
}
