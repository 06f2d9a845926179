//! Evidence that EC2 was slower than the rules count on. What follows from it is repaired as any other drift: it is
//! safe, and costs readiness. A person has to know that it happens.
//! Rule: R5.26.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Facts;
use crate::address::Address;
use crate::cloud::Interface;
use crate::ec2::DESCRIBE_LAG;
use crate::names::{InterfaceId, SubnetId};
use crate::time::Instant;

/// An address that an inventory does not show where EC2 has put it by an answer of more than ten seconds before: a
/// Describe lags for longer than is counted on, or another program moved the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contradiction {
    /// The address.
    pub address: Address,
    /// Where it is by EC2's answer; None: nowhere.
    pub answered: Option<InterfaceId>,
    /// Where this inventory shows it; None: nowhere.
    pub shown: Option<InterfaceId>,
}

impl Facts {
    /// What an inventory, begun then, says against EC2's own answers although it is late enough to show them. It is to
    /// be asked before the inventory is applied.
    #[must_use]
    pub fn contradictions(
        &self,
        subnet: &SubnetId,
        list: &[Interface],
        begun: Instant,
    ) -> Vec<Contradiction> {
        let Some(facts) = self.subnets.get(subnet) else {
            return Vec::new();
        };
        let late = |answered: Instant| begun > answered.plus(DESCRIBE_LAG);
        let own = facts.own.iter().filter(|(_, own)| late(own.answered));
        let own: Vec<_> = own.collect();
        if own.is_empty() {
            return Vec::new();
        }
        let mut shown = BTreeMap::new();
        for interface in list {
            let addresses = interface.addresses.iter();
            shown.extend(addresses.map(|address| (*address, &interface.id)));
        }
        let contradiction = |(address, own): (&Address, &super::location::OwnWrite)| {
            let shown = shown.get(address).copied();
            (shown != own.now_on.as_ref()).then(|| Contradiction {
                address: *address,
                answered: own.now_on.clone(),
                shown: shown.cloned(),
            })
        };
        own.into_iter().filter_map(contradiction).collect()
    }
}
