//! VPCs, subnets and tags.

use std::collections::BTreeSet;

use ipnet::Ipv4Net;

use super::error::{Code, Ec2Error};
use super::id::{ResourceId, SubnetId, VpcId};
use super::objects::{Subnet, Tags, Vpc};
use super::request::Changed;
use super::{Ec2, no_subnet, no_vpc};

/// The default zone of a subnet.
const DEFAULT_ZONE: &str = "eu-north-1a";

impl Ec2 {
    pub(super) fn create_vpc(&mut self, cidr: Ipv4Net, tags: Tags) -> Result<Changed, Ec2Error> {
        if !sized(cidr) {
            return Err(Ec2Error::new(
                Code::VpcRange,
                format!("The CIDR '{cidr}' is invalid."),
            ));
        }
        let id = VpcId(self.next());
        // EC2 takes a CIDR with host bits and keeps the network.
        let cidr = cidr.trunc();
        let vpc = Vpc { id, cidr, tags };
        self.vpcs.insert(id, vpc.clone());
        Ok(Changed::Vpc(vpc))
    }

    pub(super) fn create_subnet(
        &mut self,
        vpc: VpcId,
        cidr: Ipv4Net,
        zone: Option<String>,
        tags: Tags,
    ) -> Result<Changed, Ec2Error> {
        let cidr = cidr.trunc();
        let within = self.vpc(vpc)?.cidr;
        if !sized(cidr) || !within.contains(&cidr) {
            return Err(Ec2Error::new(
                Code::SubnetRange,
                format!("The CIDR '{cidr}' is invalid."),
            ));
        }
        let conflict = self.subnets.values().any(|other| {
            other.vpc == vpc && (other.cidr.contains(&cidr) || cidr.contains(&other.cidr))
        });
        if conflict {
            return Err(Ec2Error::new(
                Code::SubnetConflict,
                format!("The CIDR '{cidr}' conflicts with another subnet"),
            ));
        }
        let id = SubnetId(self.next());
        let subnet = Subnet {
            id,
            vpc,
            cidr,
            zone: zone.unwrap_or_else(|| DEFAULT_ZONE.to_owned()),
            tags,
        };
        self.subnets.insert(id, subnet.clone());
        Ok(Changed::Subnet(subnet))
    }

    pub(super) fn create_tags(
        &mut self,
        resources: &BTreeSet<ResourceId>,
        tags: &Tags,
    ) -> Result<Changed, Ec2Error> {
        let mut tagged = self.clone();
        for resource in resources {
            tagged.tags_mut(*resource)?.extend(tags.clone());
        }
        *self = tagged;
        Ok(Changed::Done)
    }

    fn tags_mut(&mut self, resource: ResourceId) -> Result<&mut Tags, Ec2Error> {
        match resource {
            ResourceId::Vpc(id) => match self.vpcs.get_mut(&id) {
                Some(vpc) => Ok(&mut vpc.tags),
                None => Err(no_vpc(id)),
            },
            ResourceId::Subnet(id) => match self.subnets.get_mut(&id) {
                Some(subnet) => Ok(&mut subnet.tags),
                None => Err(no_subnet(id)),
            },
            ResourceId::Instance(id) => Ok(&mut self.instance_mut(id)?.tags),
            ResourceId::NetworkInterface(id) => Ok(&mut self.interface_mut(id)?.tags),
        }
    }
}

/// Between /16 and /28 (VPC User Guide, "VPC CIDR blocks").
fn sized(cidr: Ipv4Net) -> bool {
    (16..=28).contains(&cidr.prefix_len())
}
