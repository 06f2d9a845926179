//! Claims whose write was sent: their addresses take slots on their ENIs from then on.
//! Rules: R3.9, R5.32.

use super::denials::DenialTurn;
use super::{Affected, Facts};
use crate::address::Address;
use crate::names::{InterfaceId, IpName};
use crate::objects::Ip;
use crate::time::Instant;

/// A claim whose write was sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClaimBegun {
    interface: InterfaceId,
    address: Address,
    pub(super) turn: Option<DenialTurn>,
}

impl Facts {
    /// The IPs whose address comes to this ENI, and that address: by a claim that EC2 has not confirmed, or by one
    /// whose write was sent. No address comes twice.
    pub fn pending_for(&self, interface: &InterfaceId) -> impl Iterator<Item = (&IpName, Address)> {
        let written = self.index.unfinished_for(interface);
        let written = written.filter_map(|name| Some((name, self.ips.get(name)?.status.address?)));
        let begun = self.claims_begun.iter().filter(move |(name, begun)| {
            let known = self.ips.get(*name);
            let shown = known.is_some_and(|ip| {
                ip.unfinished_for() == Some(interface) && ip.status.address == Some(begun.address)
            });
            begun.interface == *interface && !shown
        });
        written.chain(begun.map(|(name, begun)| (name, begun.address)))
    }

    /// The write of a claim is sent. Affects the IPs that wait while it has the turn.
    pub(super) fn claim_begun(
        &mut self,
        name: IpName,
        interface: InterfaceId,
        address: Address,
    ) -> Affected {
        let turn = self.turn_of(&name, &interface, address);
        let begun = ClaimBegun {
            interface,
            address,
            turn,
        };
        let turn = begun.turn.as_ref();
        let others = turn.map_or(Affected::Nothing, |turn| self.affected_by_turn(turn));
        self.claims_begun.insert(name, begun);
        others
    }

    /// It is known whether the last claim of this IP was written. Affects the IPs that wait for its slot, if it was not
    /// written, and those that wait for their turn.
    pub(super) fn claim_write_ended(&mut self, name: &IpName, now: Instant) -> Affected {
        let Some(begun) = self.claims_begun.remove(name) else {
            return Affected::Nothing;
        };
        let written = self.ips.get(name).and_then(Ip::unfinished_for) == Some(&begun.interface);
        let others = if written {
            Affected::Nothing
        } else {
            Affected::of(self.affected_by_room(&begun.interface))
        };
        match &begun.turn {
            Some(turn) => others.and(self.turn_ended(turn, written, now)),
            None => others,
        }
    }
}
