//! Releases an `IPAddress` of Mooring that belongs to no IP: its create was not answered, and was executed after the IP
//! was gone. Otherwise its own finalizer would keep it, and its address, permanently.
//! Rules: R2.22 to R2.24.

use crate::facts::{Answered, Facts, READ_FRESH, SubnetFacts};
use crate::names::{IpName, IpUid};
use crate::objects::{Block, BlockSpec, Reservation};
use crate::step::BlockStep;
use crate::time::Instant;

impl Facts {
    /// The next step for such an `IPAddress` in the block (read its IP, or release it), and the release that it leads to.
    pub(super) fn ownerless_step(
        &self,
        block: &Block,
        spec: &BlockSpec,
        subnet: Option<&SubnetFacts>,
        now: Instant,
    ) -> Option<(BlockStep, BlockStep)> {
        let subnet = subnet?;
        let failures = self.block_failures.get(&block.name);
        let candidates = self.ownerless().filter_map(|(reservation, parent)| {
            let address = reservation.address;
            let (uid, since) = self.ownerless.get(&address)?;
            let location = subnet.locate(address, self.settings.inventory_interval, now);
            // An address on an ENI is reported, and stays reserved.
            let nowhere = location.fresh
                && location.on.is_none()
                && location.agreed_since.is_some_and(|begun| begun > *since);
            if uid != &reservation.uid || !spec.range.contains(address) || !nowhere {
                return None;
            }
            let release = BlockStep::Release(reservation.clone());
            let read = self.reads.ips.get(parent);
            let waits = || failures.is_some_and(|failures| !failures.is_due(&release, now));
            let step = match read
                .filter(|read| read.begun > *since && now.since(read.begun) <= READ_FRESH)
            {
                // Nothing is read for a write that waits.
                None if !waits() => BlockStep::ReadIp(parent.clone()),
                Some(Answered {
                    value: Some(ip), ..
                }) if may_be_of(reservation, &ip.uid) => {
                    return None;
                }
                _ => release.clone(),
            };
            Some((step, release))
        });
        // One that waits after a failure delays no other one. If all wait, the first is reported.
        let mut waiting = None;
        for (step, release) in candidates {
            if failures.is_none_or(|failures| failures.is_due(&step, now)) {
                return Some((step, release));
            }
            waiting.get_or_insert((step, release));
        }
        waiting
    }

    /// The reservations that belong to no known IP, with the name of the IP that each was created for.
    pub(crate) fn ownerless(&self) -> impl Iterator<Item = (&Reservation, &IpName)> {
        let all = self.reservations.all().filter(|_| self.synced());
        all.filter_map(|reservation| {
            let parent = reservation.parent.as_ref()?;
            let ownerless = self.is_ownerless(reservation, parent);
            ownerless.then_some((reservation, parent))
        })
    }

    /// True if Mooring made this reservation for an IP of this name, and neither its UIDs nor its address belong to a
    /// known IP.
    pub(crate) fn is_ownerless(&self, reservation: &Reservation, parent: &IpName) -> bool {
        let of = |uid: &IpUid| may_be_of(reservation, uid);
        let by_name = self.ips.get(parent);
        let mut named = [&reservation.label, &reservation.owner]
            .into_iter()
            .flatten();
        let mut about = self.index.ips_about(reservation.address);
        let explains = |name: &IpName| {
            let ip = self.ips.get(name);
            ip.is_some_and(|ip| ip.explains(reservation.address))
        };
        let lives = by_name.is_some_and(|ip| of(&ip.uid))
            || self.unreadable.get(parent).is_some_and(|ip| of(&ip.uid))
            || named.any(|uid| self.index.ip_of_uid(uid).is_some())
            || about.any(explains);
        reservation.managed && !lives
    }
}

/// True if the reservation may belong to this IP. If label and owner were removed, it belongs to the IP that its
/// parent names.
fn may_be_of(reservation: &Reservation, parent: &IpUid) -> bool {
    let uids = [&reservation.label, &reservation.owner];
    let mut named = uids.into_iter().flatten().peekable();
    named.peek().is_none() || named.any(|uid| uid == parent)
}
