//! Instances and their types.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{Instance as Described, InstanceStateName, InstanceType as TypeName};
use mooring_plan::cloud::{Instance, InstanceState};
use mooring_plan::names::{InstanceId, InstanceType};
use mooring_plan::outcome::Action;

use super::answer::{Answer, list};
use super::client::Ec2;
use super::failure::unreadable;
use crate::cloud::CloudError;

/// Names in one request, the most that `DescribeInstanceTypes` takes (EC2 API reference).
const BATCH: usize = 100;

pub(super) async fn by_id(ec2: &Ec2, ids: &[InstanceId]) -> Result<Vec<Instance>, CloudError> {
    let mut instances = Vec::new();
    // No chunks, no call: a request without ids would describe the whole account.
    for ids in ids.chunks(BATCH) {
        let object = list(ids);
        let answer = Answer {
            action: Action::DescribeInstances,
            object: &object,
        };
        let call = ec2
            .client
            .describe_instances()
            .set_instance_ids(Some(ids.iter().map(ToString::to_string).collect()));
        // Not paged: EC2 allows no page size together with ids.
        let got = ec2
            .answer(answer.action, answer.object, call.send())
            .await?;
        let described = answer
            .has(got.reservations, "set of reservations")?
            .into_iter()
            .flat_map(|reservation| reservation.instances.unwrap_or_default())
            .map(|instance| read(answer, instance))
            .collect::<Result<Vec<_>, _>>()?;
        answer.covers(ids, described.iter().map(|instance| &instance.id))?;
        instances.extend(described);
    }
    Ok(instances)
}

fn read(answer: Answer<'_>, instance: Described) -> Result<Instance, CloudError> {
    let id = answer.has(instance.instance_id, "instance id")?;
    let state = answer.has(
        instance.state.and_then(|state| state.name),
        "state of an instance",
    )?;
    let state = match state {
        InstanceStateName::Pending => InstanceState::Pending,
        InstanceStateName::Running => InstanceState::Running,
        InstanceStateName::ShuttingDown => InstanceState::ShuttingDown,
        InstanceStateName::Terminated => InstanceState::Terminated,
        InstanceStateName::Stopping => InstanceState::Stopping,
        InstanceStateName::Stopped => InstanceState::Stopped,
        other => {
            let message = format!(
                "{id} is in the state {:?}, which is not known",
                other.as_str()
            );
            return Err(unreadable(answer.action, answer.object, message));
        }
    };
    Ok(Instance {
        id: InstanceId::new(id),
        state,
    })
}

pub(super) async fn address_limits(
    ec2: &Ec2,
    types: &[InstanceType],
) -> Result<BTreeMap<InstanceType, u32>, CloudError> {
    let mut limits = BTreeMap::new();
    for types in types.chunks(BATCH) {
        let object = list(types);
        let answer = Answer {
            action: Action::DescribeInstanceTypes,
            object: &object,
        };
        let names = types
            .iter()
            .map(|name| TypeName::from(name.as_str()))
            .collect();
        let call = ec2
            .client
            .describe_instance_types()
            .set_instance_types(Some(names));
        let got = ec2
            .answer(answer.action, answer.object, call.send())
            .await?;
        for described in answer.has(got.instance_types, "set of instance types")? {
            let name = answer.has(described.instance_type, "name of an instance type")?;
            let limit = described
                .network_info
                .and_then(|network| network.ipv4_addresses_per_interface);
            let limit = answer.has(
                limit.and_then(|limit| u32::try_from(limit).ok()),
                "limit of addresses",
            )?;
            limits.insert(InstanceType::from(name.as_str()), limit);
        }
        answer.covers(types, limits.keys())?;
    }
    Ok(limits)
}
