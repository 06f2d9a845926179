//! Instances and their types.

use std::collections::BTreeMap;

use aws_sdk_ec2::primitives::DateTimeFormat;
use aws_sdk_ec2::types::{InstanceStateName, InstanceType as TypeName, SummaryStatus};
use mooring_plan::cloud::InstanceState;
use mooring_plan::ec2::TYPES_AT_ONCE;
use mooring_plan::names::{InstanceId, InstanceType};
use mooring_plan::outcome::Action;

use super::answer::{Answer, list};
use super::client::Ec2;
use super::failure::unreadable;
use crate::cloud::CloudError;

impl Ec2 {
    /// The state of an instance. An answer without the instance is an error, not a termination.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::InstanceNotFound`] if EC2 does not know it.
    pub async fn instance(&self, id: &InstanceId) -> Result<InstanceState, CloudError> {
        let answer = Answer {
            action: Action::DescribeInstances,
            object: id.as_str(),
        };
        let call = self.client.describe_instances().instance_ids(id.as_str());
        // Not paged: EC2 allows no page size together with ids.
        let got = self
            .answer(answer.action, answer.object, call.send())
            .await?;
        let described = answer
            .has(got.reservations, "set of reservations")?
            .into_iter()
            .flat_map(|reservation| reservation.instances.unwrap_or_default())
            .find(|instance| instance.instance_id() == Some(id.as_str()));
        let instance = answer.shows(described)?;
        let state = instance.state.and_then(|state| state.name);
        match answer.has(state, "state of an instance")? {
            InstanceStateName::Pending => Ok(InstanceState::Pending),
            InstanceStateName::Running => Ok(InstanceState::Running),
            InstanceStateName::ShuttingDown => Ok(InstanceState::ShuttingDown),
            InstanceStateName::Terminated => Ok(InstanceState::Terminated),
            InstanceStateName::Stopping => Ok(InstanceState::Stopping),
            InstanceStateName::Stopped => Ok(InstanceState::Stopped),
            other => {
                let message = format!(
                    "{id} is in the state {:?}, which is not known",
                    other.as_str()
                );
                Err(unreadable(answer.action, answer.object, message))
            }
        }
    }

    /// Since when a status check of an instance fails, as EC2 writes it. If several checks fail, the earliest time.
    /// None: no check fails. The check of its volumes is ignored, because the instance can work without them.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::InstanceNotFound`] if EC2 does not know it.
    pub async fn impaired_since(&self, id: &InstanceId) -> Result<Option<String>, CloudError> {
        let answer = Answer {
            action: Action::DescribeInstanceStatus,
            object: id.as_str(),
        };
        let call = self
            .client
            .describe_instance_status()
            .instance_ids(id.as_str())
            .include_all_instances(true);
        let got = self
            .answer(answer.action, answer.object, call.send())
            .await?;
        let described = answer
            .has(got.instance_statuses, "set of statuses")?
            .into_iter()
            .find(|status| status.instance_id() == Some(id.as_str()));
        let shown = answer.shows(described)?;
        let checks = [shown.system_status, shown.instance_status];
        let mut since = None;
        for check in checks.into_iter().flatten() {
            if check.status != Some(SummaryStatus::Impaired) {
                continue;
            }
            let failed = check.details.unwrap_or_default().into_iter();
            let moments = failed.filter_map(|detail| detail.impaired_since);
            // EC2 may omit the time. The check fails even so.
            let earliest = moments.min().map_or(Ok(String::new()), |moment| {
                moment.fmt(DateTimeFormat::DateTime)
            });
            let earliest = earliest.map_err(|error| {
                unreadable(
                    answer.action,
                    answer.object,
                    format!("impairedSince: {error}"),
                )
            })?;
            since = Some(since.map_or(earliest.clone(), |known: String| known.min(earliest)));
        }
        Ok(since)
    }

    /// The most IPv4 addresses, including the primary one, that an interface of each of these types can have.
    ///
    /// # Errors
    /// [`mooring_plan::outcome::Outcome::Invalid`] if EC2 does not know one of the types: then it answers for none of
    /// them.
    pub async fn address_limits(
        &self,
        types: &[InstanceType],
    ) -> Result<BTreeMap<InstanceType, u32>, CloudError> {
        let mut limits = BTreeMap::new();
        for types in types.chunks(TYPES_AT_ONCE) {
            let object = list(types);
            let answer = Answer {
                action: Action::DescribeInstanceTypes,
                object: &object,
            };
            let names = types
                .iter()
                .map(|name| TypeName::from(name.as_str()))
                .collect();
            let call = self
                .client
                .describe_instance_types()
                .set_instance_types(Some(names));
            let got = self
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
}
