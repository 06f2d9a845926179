//! The filters of the Describe calls.

use super::Ec2;
use super::id::InstanceId;
use super::objects::{Instance, NetworkInterface, Subnet, Tags};

/// The field of a filter on network interfaces (EC2 API reference, `DescribeNetworkInterfaces`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InterfaceField {
    /// `network-interface-id`
    Id,
    /// `subnet-id`
    Subnet,
    /// `vpc-id`
    Vpc,
    /// `private-ip-address` and `addresses.private-ip-address`: any address, primary or secondary.
    Address,
    /// `attachment.instance-id`
    Instance,
    /// `attachment.status`: `attached`, or no value at all.
    AttachmentStatus,
    /// `attachment.device-index`
    DeviceIndex,
    /// `status`: `in-use` or `available`.
    Status,
    /// `tag:KEY`
    Tag(String),
    /// `tag-key`
    TagKey,
}

/// The field of a filter on instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceField {
    /// `instance-id`
    Id,
    /// `instance-state-name`
    State,
    /// `subnet-id`
    Subnet,
    /// `vpc-id`
    Vpc,
    /// `tag:KEY`
    Tag(String),
}

/// The field of a filter on subnets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubnetField {
    /// `subnet-id`
    Id,
    /// `vpc-id`
    Vpc,
    /// `availability-zone`
    Zone,
    /// `tag:KEY`
    Tag(String),
}

/// A field and patterns, of which one must match. `*` and `?` are wildcards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Filter<F> {
    /// The field.
    pub field: F,
    /// The patterns.
    pub values: Vec<String>,
}

/// A filter of `DescribeNetworkInterfaces`.
pub type InterfaceFilter = Filter<InterfaceField>;
/// A filter of `DescribeInstances`.
pub type InstanceFilter = Filter<InstanceField>;
/// A filter of `DescribeSubnets`.
pub type SubnetFilter = Filter<SubnetField>;

impl<F> Filter<F> {
    fn matches(&self, found: &[String]) -> bool {
        self.values
            .iter()
            .any(|pattern| found.iter().any(|text| glob(pattern, text)))
    }
}

impl InterfaceFilter {
    pub(super) fn accepts(&self, ec2: &Ec2, interface: &NetworkInterface) -> bool {
        let attachment = interface.attachment.as_ref();
        let found = match &self.field {
            InterfaceField::Id => vec![interface.id.to_string()],
            InterfaceField::Subnet => vec![interface.subnet.to_string()],
            InterfaceField::Vpc => vpc_of(ec2, interface.subnet),
            InterfaceField::Address => interface.addresses().map(|a| a.to_string()).collect(),
            InterfaceField::Instance => attachment
                .map(|a| a.instance.to_string())
                .into_iter()
                .collect(),
            InterfaceField::AttachmentStatus => attachment
                .map(|_| "attached".to_owned())
                .into_iter()
                .collect(),
            InterfaceField::DeviceIndex => attachment
                .map(|a| a.device_index.to_string())
                .into_iter()
                .collect(),
            InterfaceField::Status => vec![interface.status().to_owned()],
            InterfaceField::Tag(key) => tag(&interface.tags, key),
            InterfaceField::TagKey => interface.tags.keys().cloned().collect(),
        };
        self.matches(&found)
    }
}

impl InstanceFilter {
    pub(super) fn accepts(&self, ec2: &Ec2, instance: &Instance) -> bool {
        let found = match &self.field {
            InstanceField::Id => vec![instance.id.to_string()],
            InstanceField::State => vec![instance.state.as_str().to_owned()],
            InstanceField::Subnet => vec![instance.subnet.to_string()],
            InstanceField::Vpc => vpc_of(ec2, instance.subnet),
            InstanceField::Tag(key) => tag(&instance.tags, key),
        };
        self.matches(&found)
    }
}

impl SubnetFilter {
    pub(super) fn accepts(&self, subnet: &Subnet) -> bool {
        let found = match &self.field {
            SubnetField::Id => vec![subnet.id.to_string()],
            SubnetField::Vpc => vec![subnet.vpc.to_string()],
            SubnetField::Zone => vec![subnet.zone.clone()],
            SubnetField::Tag(key) => tag(&subnet.tags, key),
        };
        self.matches(&found)
    }
}

impl Ec2 {
    /// The interfaces of an instance, in the order of their device indexes.
    #[must_use]
    pub fn interfaces_of(&self, instance: InstanceId) -> Vec<&NetworkInterface> {
        let mut attached: Vec<_> = self
            .interfaces
            .values()
            .filter_map(|interface| {
                let attachment = interface.attachment.as_ref()?;
                (attachment.instance == instance).then_some((attachment.device_index, interface))
            })
            .collect();
        attached.sort_unstable_by_key(|(index, interface)| (*index, interface.id));
        attached
            .into_iter()
            .map(|(_, interface)| interface)
            .collect()
    }
}

fn vpc_of(ec2: &Ec2, subnet: super::id::SubnetId) -> Vec<String> {
    ec2.subnet(subnet)
        .map(|subnet| subnet.vpc.to_string())
        .into_iter()
        .collect()
}

fn tag(tags: &Tags, key: &str) -> Vec<String> {
    tags.get(key).cloned().into_iter().collect()
}

/// Matches a pattern: `*` is any text, `?` is any single character (EC2 User Guide, "Filter your resources").
fn glob(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let rest = pattern.get(first.len_utf8()..).unwrap_or_default();
    if first == '*' {
        return glob(rest, text)
            || text
                .char_indices()
                .any(|(at, c)| glob(rest, text.get(at + c.len_utf8()..).unwrap_or_default()));
    }
    let Some(here) = text.chars().next() else {
        return false;
    };
    (first == '?' || first == here) && glob(rest, text.get(here.len_utf8()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_star_and_a_question_mark_are_wildcards() {
        assert!(glob("eni-*", "eni-00000000000000001"));
        assert!(glob("a?c*", "abc"));
        assert!(glob("10.0.0.5", "10.0.0.5"));
        assert!(!glob("10.0.0.5", "10.0.0.51"));
        assert!(!glob("a?c", "ac"));
    }
}
