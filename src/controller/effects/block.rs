//! Carries out the steps of a block.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mooring_plan::engine::Completion;
use mooring_plan::facts::Fact;
use mooring_plan::names::{BlockName, InstanceType, NodeName, ResourceVersion, SubnetId};
use mooring_plan::objects::BlockStatus;
use mooring_plan::outcome::Action;
use mooring_plan::step::{BlockStep, Read};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, PatchOutcome, Subresource, finalizers, patch};
use crate::api::read::block_status_patch;
use crate::api::{IpBlockStatus, names};
use crate::controller::error::Failure;

impl Effects {
    /// Carries out a step of this block.
    pub(in crate::controller) async fn block_step(
        &self,
        block: &BlockName,
        step: BlockStep,
    ) -> Completion {
        let done = match &step {
            BlockStep::ReadSubnet(subnet) => return self.subnet(subnet.clone()).await,
            BlockStep::ReadLimits(types) => return self.limits(types.clone()).await,
            BlockStep::ReadIp(name) => return self.read(name, Read::Ip(name.clone())).await,
            BlockStep::Release(reservation) => self.release(reservation).await,
            BlockStep::Label { node, present } => self.label_node(node, block, *present).await,
            BlockStep::AddFinalizer { version } => {
                self.block_finalizer(block, *version, true).await
            }
            BlockStep::RemoveFinalizer { version } => {
                self.block_finalizer(block, *version, false).await
            }
            BlockStep::Status { version, status } => self.block_status(block, *version, status).await,
            BlockStep::DropReleaseBrake { version } => {
                self.patch_block(block, *version, Subresource::Object, |_| {
                    Ok(Some(json!({"metadata": {"annotations": {names::RELEASE_BRAKE_ANNOTATION: null}}})))
                })
                .await
            }
        };
        Fact::BlockWrote(block.clone(), step, self.outcome_of(done)).into()
    }

    async fn subnet(&self, id: SubnetId) -> Completion {
        let answer = self.cloud.subnet(&id).await;
        self.described(Action::DescribeSubnets, answer, |answer| match answer {
            Ok(subnet) => vec![Fact::SubnetRead(id, subnet)],
            Err(outcome) => vec![Fact::SubnetFailed(id, outcome)],
        })
    }

    async fn limits(&self, types: BTreeSet<InstanceType>) -> Completion {
        let list: Vec<InstanceType> = types.iter().cloned().collect();
        let answer = self.cloud.address_limits(&list).await;
        self.described(
            Action::DescribeInstanceTypes,
            answer,
            |answer| match answer {
                Ok(limits) => vec![Fact::LimitsRead(limits)],
                Err(outcome) => vec![Fact::LimitsFailed(types, outcome)],
            },
        )
    }

    /// Sets or removes the label without a version guard, because others write Nodes all the time.
    async fn label_node(
        &self,
        node: &NodeName,
        block: &BlockName,
        wanted: bool,
    ) -> Result<PatchOutcome, Failure> {
        let label = block.node_label();
        let object = format!("the label of node {node} for IPBlock {block}");
        let (nodes, name, guard) = (self.apis.nodes(), node.as_str(), Guard::default());
        patch(&nodes, &object, name, guard, Subresource::Object, |node| {
            let labels = node.metadata.labels.as_ref();
            let labelled = labels.is_some_and(|labels| labels.contains_key(&label));
            let value = if wanted { json!("") } else { Value::Null };
            let patch = json!({"metadata": {"labels": {label: value}}});
            Ok((labelled != wanted).then_some(patch))
        })
        .await
    }

    async fn block_finalizer(
        &self,
        block: &BlockName,
        version: ResourceVersion,
        wanted: bool,
    ) -> Result<PatchOutcome, Failure> {
        self.patch_block(block, version, Subresource::Object, |object| {
            Ok(finalizers(object, names::BLOCK_FINALIZER, wanted))
        })
        .await
    }

    async fn block_status(
        &self,
        block: &BlockName,
        version: ResourceVersion,
        status: &BlockStatus,
    ) -> Result<PatchOutcome, Failure> {
        let now = Time(Timestamp::now());
        self.patch_block(block, version, Subresource::Status, |object| {
            let before = object.data.get("status").map(IpBlockStatus::deserialize);
            // The whole status is derived, so an unreadable one is replaced.
            let before = before.and_then(Result::ok).unwrap_or_default();
            Ok(Some(
                json!({"status": block_status_patch(status, &before, &now)?}),
            ))
        })
        .await
    }

    async fn patch_block(
        &self,
        block: &BlockName,
        version: ResourceVersion,
        subresource: Subresource,
        change: impl FnOnce(&kube::api::DynamicObject) -> Result<Option<Value>, serde_json::Error>,
    ) -> Result<PatchOutcome, Failure> {
        let guard = Guard {
            uid: None,
            version: Some(version),
        };
        let object = format!("IPBlock {block}");
        patch(
            &self.apis.blocks(),
            &object,
            block.as_str(),
            guard,
            subresource,
            change,
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use mooring_plan::facts::{Fact, WriteOutcome};
    use mooring_plan::names::{BlockName, NodeName};
    use mooring_plan::step::BlockStep;
    use serde_json::json;

    use super::Effects;
    use crate::fake_api::{api_server, failure};

    /// The API server has each Node, and answers a change of it with this code.
    fn effects(code: u16) -> Effects {
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "n1", "uid": "uid-1", "resourceVersion": "7"}});
        let client = api_server(move |method, _, _| match (method, code) {
            (&Method::GET, _) | (_, 200) => (200, node.clone()),
            _ => failure(code),
        });
        Effects::of_client(client)
    }

    #[tokio::test]
    async fn each_write_of_a_block_has_an_answer() {
        let block = BlockName::new("partners");
        let step = BlockStep::Label {
            node: NodeName::new("n1"),
            present: true,
        };
        for (code, outcome) in [
            (200, WriteOutcome::Done(None)),
            (404, WriteOutcome::NotFound),
            (422, WriteOutcome::Refused(String::new())),
            (500, WriteOutcome::Unknown),
        ] {
            let completion = effects(code).block_step(&block, step.clone()).await;
            let wrote = Fact::BlockWrote(block.clone(), step.clone(), outcome);
            assert_eq!(completion.facts, [wrote], "{code}");
        }
    }
}
