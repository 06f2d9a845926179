//! Whether EC2 knows the subnet in the region and account of the controller. Elsewhere it lists the ENIs of the subnet as
//! an empty list, without an error.
//! Rule: R1.27.

use super::{Facts, SubnetFacts};
use crate::cloud::Interface;
use crate::names::SubnetId;
use crate::outcome::Outcome;
use crate::time::Instant;

impl SubnetFacts {
    /// True if this list says nothing about the subnet: it can come from another region or account.
    pub(super) const fn proves_nothing(&self, list: &[Interface]) -> bool {
        list.is_empty() && !self.confirmed
    }

    /// True if `DescribeSubnets` is needed: the CIDRs are not known, or an empty list does not count without it.
    pub(crate) fn needs_read(&self) -> bool {
        self.cidrs.is_empty() || self.list_unproven()
    }

    /// A `DescribeSubnets` that failed is not reported when its answer is not needed any more.
    pub(super) fn forget_unread(&mut self) {
        if !self.needs_read() {
            self.unread = None;
        }
    }

    /// True if the last list that EC2 answered was empty, and says nothing.
    fn list_unproven(&self) -> bool {
        let failed = self.failed.as_ref();
        failed.is_some_and(|failed| failed.outcome == Outcome::SubnetNotFound)
    }

    /// `DescribeSubnets` has shown the subnet.
    pub(super) fn confirm_existence(&mut self, now: Instant) {
        self.unread = None;
        let unproven = self.list_unproven();
        // After a list with ENIs, an answer from before the empty list says nothing about it: the account can have
        // changed.
        self.confirmed |= unproven || self.inventory().is_none();
        if unproven {
            self.failed = None;
            self.want(now);
        }
    }
}

impl Facts {
    /// When the last inventory that counts was begun.
    pub(crate) fn last_inventory_begun(&self, subnet: &SubnetId) -> Option<Instant> {
        let inventory = self.subnets.get(subnet)?.inventory()?;
        Some(inventory.begun)
    }
}
