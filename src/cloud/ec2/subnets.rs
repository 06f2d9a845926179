//! Subnets.
use mooring_plan::address::Cidr;
use mooring_plan::names::SubnetId;
use mooring_plan::outcome::Action;

use super::answer::Answer;
use super::client::Ec2;
use crate::cloud::CloudError;

impl Ec2 {
    /// The IPv4 ranges of a subnet: EC2 gives it one. A subnet that the answer lacks is an error.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::SubnetNotFound`] if EC2 does not know it.
    pub async fn subnet(&self, id: &SubnetId) -> Result<Vec<Cidr>, CloudError> {
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
        Ok(vec![answer.reads(&cidr, "CIDR")?])
    }
}
