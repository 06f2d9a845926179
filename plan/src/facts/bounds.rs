//! Detects that EC2 was slower than the assumed bounds. The result is repaired like other drift: it is safe, but costs
//! readiness. It is reported so that an operator can see it.
//! Rule: R5.26.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Facts;
use crate::address::Address;
use crate::cloud::Interface;
use crate::ec2::DESCRIBE_LAG;
use crate::names::{InterfaceId, SubnetId};
use crate::time::Instant;

/// An address that an inventory shows at another place than an answer of EC2 from more than ten seconds before.
/// Describe lags for longer than assumed, or another program moved the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contradiction {
    /// The address.
    pub address: Address,
    /// The place according to the answer of EC2; None: nowhere.
    pub answered: Option<InterfaceId>,
    /// The place according to this inventory; None: nowhere.
    pub shown: Option<InterfaceId>,
}

impl Facts {
    /// The addresses for which an inventory contradicts earlier answers of EC2, although it began late enough to show
    /// them. Must be called before the inventory is applied.
    #[must_use]
    pub fn contradictions(
        &self,
        subnet: &SubnetId,
        list: &[Interface],
        begun: Instant,
    ) -> Vec<Contradiction> {
        let known = self.subnets.get(subnet);
        let Some(facts) = known.filter(|known| !known.proves_nothing(list)) else {
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
