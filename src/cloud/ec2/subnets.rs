//! Subnets.

use mooring_plan::cloud::Subnet;
use mooring_plan::names::SubnetId;
use mooring_plan::outcome::Action;

use super::answer::{Answer, list};
use super::client::Ec2;
use crate::cloud::CloudError;

/// Ids in one request: far below what EC2 takes, far above what a cluster has.
const BATCH: usize = 100;

pub(super) async fn by_id(ec2: &Ec2, ids: &[SubnetId]) -> Result<Vec<Subnet>, CloudError> {
    let mut subnets = Vec::new();
    // No chunks, no call: a request without ids would describe the whole account.
    for ids in ids.chunks(BATCH) {
        let object = list(ids);
        let answer = Answer {
            action: Action::DescribeSubnets,
            object: &object,
        };
        let call = ec2
            .client
            .describe_subnets()
            .set_subnet_ids(Some(ids.iter().map(ToString::to_string).collect()));
        let got = ec2
            .answer(answer.action, answer.object, call.send())
            .await?;
        let described = answer
            .has(got.subnets, "set of subnets")?
            .into_iter()
            .map(|subnet| {
                let cidr = answer.has(subnet.cidr_block, "CIDR of a subnet")?;
                Ok(Subnet {
                    id: SubnetId::new(answer.has(subnet.subnet_id, "subnet id")?),
                    cidrs: vec![answer.reads(&cidr, "CIDR")?],
                })
            })
            .collect::<Result<Vec<_>, CloudError>>()?;
        answer.covers(ids, described.iter().map(|subnet| &subnet.id))?;
        subnets.extend(described);
    }
    Ok(subnets)
}
