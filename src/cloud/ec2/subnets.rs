//! Subnets.

use mooring_plan::cloud::{CniUse, Subnet};
use mooring_plan::ec2::CNI_ROLE;
use mooring_plan::names::SubnetId;
use mooring_plan::outcome::Action;

use super::answer::Answer;
use super::client::Ec2;
use crate::cloud::CloudError;

impl Ec2 {
    /// Reads a subnet: its IPv4 ranges (EC2 has one for each subnet), and whether the VPC CNI uses it. An answer
    /// without the subnet is an error.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::SubnetNotFound`] if EC2 does not know it.
    pub async fn subnet(&self, id: &SubnetId) -> Result<Subnet, CloudError> {
        let answer = Answer {
            action: Action::DescribeSubnets,
            object: id.as_str(),
        };
        let call = self.client.describe_subnets().subnet_ids(id.as_str());
        let got = self
            .answer(answer.action, answer.object, call.send())
            .await?;
        let described = answer
            .has(got.subnets, "set of subnets")?
            .into_iter()
            .find(|subnet| subnet.subnet_id() == Some(id.as_str()));
        let subnet = answer.shows(described)?;
        let cidr = answer.has(subnet.cidr_block, "CIDR of a subnet")?;
        let mut tags = subnet.tags.unwrap_or_default().into_iter();
        let excluded = tags
            .any(|tag| tag.key.as_deref() == Some(CNI_ROLE) && tag.value.as_deref() == Some("0"));
        Ok(Subnet {
            cidrs: vec![answer.reads(&cidr, "CIDR")?],
            cni: if excluded {
                CniUse::Excluded
            } else {
                CniUse::Allowed
            },
        })
    }
}
