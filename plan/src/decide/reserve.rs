//! Reservation: the `IPAddress` object of an address decides which IP has it.
//! Rules: R2.2, R2.4 to R2.12, R2.15, R2.16, R2.19, R2.20.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::conditions::Trouble;
use super::trouble::kept_for_good;
use super::world::is_ours;
use super::{Next, World};
use crate::address::Address;
use crate::block::Unusable;
use crate::ec2::RESERVED_IN_WORDS;
use crate::facts::{Answered, SubnetFacts};
use crate::objects::{Block, BlockSpec, Reservation};
use crate::reason::Reason;
use crate::step::{Read, Write};

/// Interval of new tries for an address that another owner has (R2.15).
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Why an address is not reserved: a problem to report, or a step that must be done first.
pub(crate) enum Unreserved {
    Do(Next),
    Trouble(Trouble, Next),
}

impl Unreserved {
    pub(crate) fn trouble(reason: Reason, message: impl Into<String>) -> Self {
        Self::Trouble(Trouble::new(reason, message), Next::Idle)
    }
}

impl<'a> World<'a> {
    /// The block of the spec: the one that it names, or else the one that contains its address.
    pub(crate) fn desired_block(&self) -> Result<&'a Block, Unreserved> {
        let desired = self
            .ip
            .desired
            .as_ref()
            .map_err(|why| Unreserved::trouble(Reason::Invalid, why.clone()))?;
        let names = || {
            let names: Vec<&str> = self
                .facts
                .blocks
                .keys()
                .map(super::super::names::BlockName::as_str)
                .collect();
            if names.is_empty() {
                "there is none: create an IPBlock".to_string()
            } else {
                format!("there are: {}", names.join(", "))
            }
        };
        let holding = |address: Address| {
            self.facts.blocks.values().filter(move |block| {
                block
                    .spec
                    .as_ref()
                    .is_ok_and(|spec| spec.range.contains(address))
            })
        };
        let block = match (&desired.block, desired.address) {
            (Some(name), _) => self.facts.blocks.get(name).ok_or_else(|| {
                Unreserved::trouble(
                    Reason::BlockMissing,
                    format!("block {name} does not exist; {}", names()),
                )
            })?,
            (None, Some(address)) => {
                let mut blocks = holding(address);
                match (blocks.next(), blocks.next()) {
                    (Some(block), None) => block,
                    (None, _) => {
                        return Err(Unreserved::trouble(
                            Reason::BlockMissing,
                            format!("{address} is in no block; {}", names()),
                        ));
                    }
                    (Some(one), Some(other)) => {
                        return Err(Unreserved::trouble(
                            Reason::AmbiguousBlock,
                            format!(
                                "{address} is in blocks {} and {}: name one in spec.block",
                                one.name, other.name
                            ),
                        ));
                    }
                }
            }
            (None, None) => {
                return Err(Unreserved::trouble(
                    Reason::Invalid,
                    "give spec.address or spec.block",
                ));
            }
        };
        if block.deleting && self.ip.status.block.as_ref() != Some(&block.name) {
            return Err(Unreserved::trouble(
                Reason::BlockMissing,
                format!("block {} is being deleted", block.name),
            ));
        }
        Ok(block)
    }

    /// The spec and the subnet of a block, if both are known.
    pub(crate) fn usable_block(
        &self,
        block: &'a Block,
    ) -> Result<(&'a BlockSpec, &'a SubnetFacts), Unreserved> {
        let spec = block.spec.as_ref().map_err(|why| {
            Unreserved::trouble(Reason::Invalid, format!("block {}: {why}", block.name))
        })?;
        let subnet = self.facts.subnets.get(&spec.subnet);
        let looked_at = subnet.and_then(SubnetFacts::looked_at);
        looked_at.map(|(subnet, _)| (spec, subnet)).ok_or_else(|| {
            Unreserved::trouble(
                Reason::Waiting,
                format!("EC2 has not answered yet for subnet {} of block {}: see the block's conditions", spec.subnet, block.name),
            )
        })
    }

    /// Keeps the reservation of the address that the status has.
    pub(crate) fn ensure_reserved(&self, address: Address) -> Result<(), Unreserved> {
        let Some(block) = self.block else {
            let name = self
                .ip
                .status
                .block
                .as_ref()
                .map_or("", |block| block.as_str());
            return Err(Unreserved::trouble(
                Reason::BlockMissing,
                format!("block {name} is gone: create it again"),
            ));
        };
        // A reservation that a user deleted stays: its finalizer still reserves the address. If it were replaced,
        // another IP could take the address between the two writes.
        match self.own_reservation(address) {
            Some(reservation) => self.repaired(reservation),
            None => self.reserve(block, address),
        }
    }

    /// True if the last create or read showed that another owner has the address. No watch of this process may show
    /// that owner, nor that the address is free again.
    pub(crate) fn recently_taken(&self, address: Address) -> bool {
        let taken = self.memory.taken.get(&address);
        taken.is_some_and(|(asked, _)| self.now < asked.plus(ASK_AGAIN))
    }

    /// Reserves an address for this IP, or reports its owner.
    pub(crate) fn reserve(&self, block: &'a Block, address: Address) -> Result<(), Unreserved> {
        let ip = self.ip;
        if let Some(reservation) = self.own_reservation(address) {
            return self.adopted(reservation);
        }
        let (spec, subnet) = self.usable_block(block)?;
        spec.range
            .check(address, &subnet.cidrs)
            .map_err(|why| unusable(block, spec, address, why))?;
        if let Some(kept) = subnet.immovable(address) {
            let again = Next::At(self.now.plus(ASK_AGAIN));
            return Err(Unreserved::Trouble(kept_for_good(address, kept), again));
        }
        if let Some(reservation) = self.facts.reservations.get(address) {
            return Err(self.taken(reservation));
        }
        let Some((asked, by)) = self.memory.taken.get(&address) else {
            let (name, uid) = (ip.name.clone(), ip.uid.clone());
            let create = Write::Reserve {
                ip: name,
                uid,
                version: ip.version,
                address,
            };
            return Err(Unreserved::Do(Next::write(create)));
        };
        let again = asked.plus(ASK_AGAIN);
        match self.facts.reads.reservations.get(&address) {
            Some(Answered {
                begun,
                value: Some(reservation),
            }) if self.memory.fresh(*begun, self.now) => {
                if is_ours(reservation, &ip.uid) {
                    return self.adopted(reservation);
                }
                Err(self.taken(reservation))
            }
            _ if by.is_empty() || self.now >= again => {
                Err(Unreserved::Do(Next::read(Read::Reservation(address))))
            }
            _ => Err(Unreserved::Trouble(in_use(address, by), Next::At(again))),
        }
    }

    /// Repairs references, labels and finalizer of an `IPAddress` of this IP.
    fn repaired(&self, reservation: &Reservation) -> Result<(), Unreserved> {
        let ip = self.ip;
        let whole = reservation.label.as_ref() == Some(&ip.uid)
            && reservation.owner.as_ref() == Some(&ip.uid)
            && reservation.managed
            && (reservation.finalizer || reservation.deleting);
        if whole {
            return Ok(());
        }
        Err(Unreserved::Do(self.repair_reservation(reservation)))
    }

    /// An `IPAddress` that belongs to this IP already, for an address that is to be written to the status. Another
    /// leader can be about to release it, or can have released it unseen. So it counts only after this process has
    /// written it for this version of the IP: a process that releases it later has read that version.
    fn adopted(&self, reservation: &Reservation) -> Result<(), Unreserved> {
        self.repaired(reservation)?;
        if self.memory.adopted == Some(reservation.address) {
            return Ok(());
        }
        Err(Unreserved::Do(self.repair_reservation(reservation)))
    }

    fn repair_reservation(&self, reservation: &Reservation) -> Next {
        let (name, uid) = (self.ip.name.clone(), self.ip.uid.clone());
        let reservation = reservation.clone();
        Next::write(Write::RepairReservation {
            ip: name,
            uid,
            wanted_at: self.ip.version,
            reservation,
        })
    }

    /// An `IPAddress` that does not belong to this IP by UID: finds its owner, and whether the owner still exists.
    fn taken(&self, reservation: &Reservation) -> Unreserved {
        let ip = self.ip;
        let address = reservation.address;
        let again = Next::At(self.now.plus(ASK_AGAIN));
        let Some(parent) = &reservation.parent else {
            return Unreserved::Trouble(in_use(address, &reservation.parent_text), again);
        };
        if parent == &ip.name {
            // An earlier IP of this name had it and is gone, or both references were removed. Names are unique, so no
            // other IP of this name exists at the same time.
            return match self.read_ip(&ip.name) {
                Some(Some(own)) if own.uid == ip.uid => {
                    Unreserved::Do(self.repair_reservation(reservation))
                }
                _ => Unreserved::Do(Next::read(Read::Ip(ip.name.clone()))),
            };
        }
        if self.facts.knows(parent) {
            return Unreserved::Trouble(in_use(address, &reservation.parent_text), again);
        }
        match self.read_ip(parent) {
            None => Unreserved::Do(Next::read(Read::Ip(parent.clone()))),
            Some(Some(_)) => Unreserved::Trouble(in_use(address, &reservation.parent_text), again),
            // `parentRef` is immutable: the `IPAddress` of an IP that is gone is deleted and created again.
            Some(None) => Unreserved::Do(Next::write(Write::Release(reservation.clone()))),
        }
    }
}

pub(crate) fn in_use(address: Address, by: &str) -> Trouble {
    Trouble::new(
        Reason::AddressInUse,
        format!("{address} is reserved by {by}: choose another address, or delete that one first"),
    )
}

fn unusable(block: &Block, spec: &BlockSpec, address: Address, why: Unusable) -> Unreserved {
    let name = &block.name;
    match why {
        Unusable::OutsideBlock => Unreserved::trouble(
            Reason::Invalid,
            format!("{address} is not in block {name} ({})", spec.range.cidr()),
        ),
        Unusable::Excluded(entry) => Unreserved::trouble(
            Reason::Invalid,
            format!("{address} is excluded from block {name} by {entry}"),
        ),
        Unusable::ReservedByAws(subnet) => Unreserved::trouble(
            Reason::Invalid,
            format!(
                "AWS reserves {address} in subnet {subnet} ({RESERVED_IN_WORDS}): choose another"
            ),
        ),
        Unusable::OutsideSubnet => Unreserved::trouble(
            Reason::SubnetMismatch,
            format!(
                "{address} of block {name} is not in its subnet {}: correct the block",
                spec.subnet
            ),
        ),
    }
}
