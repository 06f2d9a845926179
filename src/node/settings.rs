//! The marks, priorities and route tables that Mooring uses in the kernel.

use std::ops::RangeInclusive;

/// The protocol number of every rule, route and address that Mooring makes (`proto` in `ip rule`,
/// `ip route` and `ip address`). No other program is known to use it: iproute2 7.0, `etc/rt_protos`.
pub const PROTOCOL: u8 = 78;

/// The name of the nftables table, of the family `ip`.
pub const TABLE: &str = "mooring";

/// The main route table (`linux/rtnetlink.h`).
pub const MAIN_TABLE: u32 = 254;

/// The bits of the packet mark that Cilium uses: the identity of the source, and the kind of the mark
/// (`linux_defaults/mark.go` of cilium/cilium). The lowest 8 bits are part of the identity too, but only with Cluster
/// Mesh.
const CILIUM_MARK: u32 = 0xffff_0f00;

/// Settings from flags: numbers that could conflict with another program on the node, and the routing of Cilium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    mark_mask: u32,
    rule_priority: u32,
    first_table: u32,
    cilium_legacy_routing: bool,
}

/// Why the numbers cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// The bits of the mark are not one group of 2 to 8 bits.
    #[error(
        "--mark-mask {0:#010x} must be one group of 2 to 8 neighbouring bits, such as 0x000f0000"
    )]
    Mask(u32),
    /// Cilium uses bits of the mark: packets of other pods would follow the rules of Mooring.
    #[error(
        "--mark-mask {0:#010x} has bits that Cilium uses (0xffff0f00): with --cilium-legacy-routing give --mark-mask \
         0x00003000, for two network interfaces with addresses, or 0x0000000f, for 14, if Cilium has no Cluster Mesh"
    )]
    CiliumMask(u32),
    /// The kernel uses this priority.
    #[error("--rule-priority {0} must be between 2 and 32765: the one before it is used too")]
    Priority(u32),
    /// The route tables overlap the tables of the kernel.
    #[error("--first-table {0} must be between 256 and 4294967000: the kernel uses tables below")]
    Table(u32),
}

impl Default for NodeSettings {
    /// Numbers that do not conflict with the AWS VPC CNI 1.23 (mark `0x80`, priorities 512, 1024, 1535, 1536) and with
    /// kube-proxy (marks `0x4000`, `0x8000`). Calico uses `0xffff0000` by default.
    fn default() -> Self {
        Self {
            mark_mask: 0x000f_0000,
            rule_priority: 600,
            first_table: 10_600,
            cilium_legacy_routing: false,
        }
    }
}

impl NodeSettings {
    /// Checks the numbers.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn new(
        mark_mask: u32,
        rule_priority: u32,
        first_table: u32,
    ) -> Result<Self, SettingsError> {
        let bits = mark_mask.count_ones();
        let together = mark_mask.leading_zeros() + bits + mark_mask.trailing_zeros() == 32;
        if !(2..=8).contains(&bits) || !together {
            return Err(SettingsError::Mask(mark_mask));
        }
        if !(2..=32_765).contains(&rule_priority) {
            return Err(SettingsError::Priority(rule_priority));
        }
        if !(256..=4_294_967_000).contains(&first_table) {
            return Err(SettingsError::Table(first_table));
        }
        Ok(Self {
            mark_mask,
            rule_priority,
            first_table,
            cilium_legacy_routing: false,
        })
    }

    /// Sets whether Cilium uses its legacy host routing (`bpf.hostLegacyRouting=true`).
    ///
    /// # Errors
    /// Cilium uses bits of the mark.
    pub const fn with_cilium_legacy_routing(
        self,
        cilium_legacy_routing: bool,
    ) -> Result<Self, SettingsError> {
        if cilium_legacy_routing && self.mark_mask & CILIUM_MARK != 0 {
            return Err(SettingsError::CiliumMask(self.mark_mask));
        }
        Ok(Self {
            cilium_legacy_routing,
            ..self
        })
    }

    /// Whether packets of pods pass netfilter even if Cilium runs on the node.
    #[must_use]
    pub const fn cilium_legacy_routing(&self) -> bool {
        self.cilium_legacy_routing
    }

    /// The bits of packet and connection marks that belong to Mooring.
    #[must_use]
    pub const fn mark_mask(&self) -> u32 {
        self.mark_mask
    }

    /// The priority of every rule (`ip rule`) that selects a table of Mooring.
    #[must_use]
    pub const fn rule_priority(&self) -> u32 {
        self.rule_priority
    }

    /// The priority of the rules before them, with the routes to the pods of the node.
    #[must_use]
    pub const fn earlier_priority(&self) -> u32 {
        self.rule_priority - 1
    }

    /// The slots: one for each ENI that carries addresses. The highest number is reserved for the probe.
    #[must_use]
    pub const fn slots(&self) -> RangeInclusive<u32> {
        1..=(self.slot(self.mark_mask) - 1)
    }

    /// The mark of probe connections from pod addresses: all bits of the mask.
    #[must_use]
    pub const fn probe_mark(&self) -> u32 {
        self.mark_mask
    }

    /// The route table that delivers the replies of probe connections to the node part.
    #[must_use]
    pub const fn probe_table(&self) -> u32 {
        self.table(self.slot(self.probe_mark()))
    }

    /// The mark of a slot, within the mask.
    #[must_use]
    pub const fn mark(&self, slot: u32) -> u32 {
        (slot << self.mark_mask.trailing_zeros()) & self.mark_mask
    }

    /// The slot of a mark.
    #[must_use]
    pub const fn slot(&self, mark: u32) -> u32 {
        (mark & self.mark_mask) >> self.mark_mask.trailing_zeros()
    }

    /// The route table of a slot.
    #[must_use]
    pub const fn table(&self, slot: u32) -> u32 {
        self.first_table + slot
    }

    /// The route tables of all slots and of the probe.
    #[must_use]
    pub const fn tables(&self) -> RangeInclusive<u32> {
        self.table(*self.slots().start())..=self.probe_table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_within_their_mask() {
        let settings = NodeSettings::default();
        assert_eq!(settings.slots(), 1..=14);
        assert_eq!(settings.mark(1), 0x1_0000);
        assert_eq!(settings.mark(14), 0xe_0000);
        assert_eq!(settings.probe_mark(), 0xf_0000);
        assert_eq!(settings.probe_table(), 10_615);
        assert_eq!(settings.slot(0xffff_ffff), 15);
        assert_eq!(settings.tables(), 10_601..=10_615);
    }

    #[test]
    fn bits_of_cilium_are_refused_with_its_legacy_routing() {
        let with = |mask: u32, legacy: bool| {
            let settings = NodeSettings::new(mask, 600, 10_600).unwrap();
            settings.with_cilium_legacy_routing(legacy).map(|_| ())
        };
        for mask in [0x000f_0000, 0x0000_0f00, 0x0000_0ff0, 0xc000_0000] {
            assert_eq!(with(mask, true), Err(SettingsError::CiliumMask(mask)));
            assert_eq!(with(mask, false), Ok(()));
        }
        // The way out that the error names.
        let message = SettingsError::CiliumMask(0x000f_0000).to_string();
        for mask in [0x0000_3000, 0x0000_000f] {
            assert_eq!(with(mask, true), Ok(()));
            assert!(message.contains(&format!("{mask:#010x}")), "{message}");
        }
    }

    #[test]
    fn unusable_numbers_are_refused() {
        for mask in [0, 0x0001_0000, 0x0005_0000, 0x01ff_0000] {
            assert_eq!(
                NodeSettings::new(mask, 600, 10_600),
                Err(SettingsError::Mask(mask))
            );
        }
        assert_eq!(
            NodeSettings::new(0x30000, 1, 10_600),
            Err(SettingsError::Priority(1))
        );
        assert_eq!(
            NodeSettings::new(0x30000, 600, 200),
            Err(SettingsError::Table(200))
        );
        let two_bits = NodeSettings::new(0xc000_0000, 600, 10_600).unwrap();
        assert_eq!((two_bits.slots(), two_bits.mark(2)), (1..=2, 0x8000_0000));
        assert_eq!(two_bits.probe_mark(), 0xc000_0000);
    }
}
