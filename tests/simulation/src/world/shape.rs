//! The size of a world: chosen by the seed, or the default.

use ec2_emulator::state::instance_type::InstanceType;

use crate::chance::Chance;

/// The size of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The subnets of the addresses, by their third bytes. A machine has an interface in each.
    pub subnets: Vec<u8>,
    /// Each machine also has an interface of the network plugin, in the first of these subnets.
    pub plugin: bool,
    /// The number of interfaces on a page of an inventory.
    pub page: Option<usize>,
    /// Whether the selectors of Deployments have only expressions.
    pub expressions: bool,
    /// Whether a block has fewer addresses than the IPs that ask for them.
    pub full: bool,
    /// Whether a prefix of a block is permanently delegated to a foreign interface.
    pub prefix: bool,
    /// Whether the blocks ask for the node part.
    pub node_part: bool,
    /// Whether the blocks have fast failover.
    pub fast: bool,
    /// The instance type of the machines.
    pub machine: InstanceType,
}

impl Shape {
    /// One subnet with one interface on each machine, on one page.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            subnets: vec![1],
            plugin: false,
            page: None,
            expressions: false,
            full: false,
            prefix: false,
            node_part: false,
            fast: false,
            machine: InstanceType::C5Large,
        }
    }

    /// The size that the seed chooses.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed, "shape");
        Self {
            subnets: if chance.one_in(2) {
                vec![1, 2]
            } else {
                vec![1]
            },
            plugin: chance.one_in(2),
            page: chance.one_in(2).then_some(3),
            expressions: chance.one_in(2),
            full: chance.one_in(3),
            prefix: chance.one_in(3),
            node_part: chance.one_in(2),
            fast: false,
            machine: InstanceType::C6iXlarge,
        }
    }

    /// Fast failover, with node parts or without.
    #[must_use]
    pub fn fast(seed: u64) -> Self {
        Self {
            node_part: Chance::new(seed, "shape").one_in(2),
            fast: true,
            machine: InstanceType::C6iXlarge,
            ..Self::plain()
        }
    }

    /// Two hundred addresses in two subnets.
    #[must_use]
    pub fn large() -> Self {
        Self {
            subnets: vec![1, 2],
            page: Some(5),
            machine: InstanceType::M54xlarge,
            ..Self::plain()
        }
    }
}
