//! The specification of a node.

use std::collections::BTreeMap;

use super::Subnet;

/// The tag that keeps the VPC CNI away from an interface.
const NO_MANAGE: &str = "node.k8s.amazonaws.com/no_manage";

/// An interface of a node in addition to its primary one.
#[derive(Clone, Debug)]
pub struct InterfaceSpec {
    /// The subnet.
    pub subnet: Subnet,
    /// Its tags; [`InterfaceSpec::new`] sets the one that keeps the VPC CNI away.
    pub tags: BTreeMap<String, String>,
}

impl InterfaceSpec {
    /// An interface that the VPC CNI does not use.
    pub fn new(subnet: &Subnet) -> Self {
        Self {
            subnet: subnet.clone(),
            tags: [(NO_MANAGE.to_owned(), "true".to_owned())].into(),
        }
    }

    /// An interface that the VPC CNI may manage.
    pub fn managed(subnet: &Subnet) -> Self {
        Self {
            subnet: subnet.clone(),
            tags: BTreeMap::new(),
        }
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(mut self, key: &str, value: &str) -> Self {
        self.tags.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// The specification of a node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The name of the Node.
    pub name: String,
    /// The instance type, which decides how many addresses an interface can have. Default `m5.large`: 10.
    pub instance_type: String,
    /// The subnet of the primary interface; by default a subnet without a block.
    pub primary_subnet: Option<Subnet>,
    /// Interfaces in addition to the primary one, from device index 1 on.
    pub interfaces: Vec<InterfaceSpec>,
    /// Additional labels.
    pub labels: BTreeMap<String, String>,
    /// The most pods on the node.
    pub pods: u32,
    /// Whether to wait until the node is Ready and schedulable.
    pub wait: bool,
}

impl NodeSpec {
    /// A node without an interface in the subnet of a block.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            instance_type: "m5.large".to_owned(),
            primary_subnet: None,
            interfaces: Vec::new(),
            labels: BTreeMap::new(),
            pods: 250,
            wait: true,
        }
    }

    /// Adds an interface in that subnet, which the VPC CNI does not use.
    #[must_use]
    pub fn interface(self, subnet: &Subnet) -> Self {
        self.interface_of(InterfaceSpec::new(subnet))
    }

    /// Adds this interface.
    #[must_use]
    pub fn interface_of(mut self, interface: InterfaceSpec) -> Self {
        self.interfaces.push(interface);
        self
    }

    /// Sets the instance type: `t3.micro` (2 addresses on each interface), `t3.small` (4), `t3.medium` (6),
    /// `m5.large` (10), `m5.4xlarge` (30)...
    #[must_use]
    pub fn instance_type(mut self, kind: &str) -> Self {
        kind.clone_into(&mut self.instance_type);
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }
}
