//! Fast failover: reads the state and the status checks of the instance of a node, and writes the taint
//! `out-of-service`.
//! Rule: R3.37.

use k8s_openapi::api::core::v1::Taint;
use kube::api::DynamicObject;
use mooring_plan::engine::Completion;
use mooring_plan::facts::Fact;
use mooring_plan::names::{InstanceId, NodeName, ResourceVersion};
use mooring_plan::outcome::Action;
use mooring_plan::step::{Checks, NodeStep};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Effects;
use super::patch::{Guard, Subresource, patch};
use super::reads::instance_read;
use crate::api::names::{OUT_OF_SERVICE_EFFECT, OUT_OF_SERVICE_TAINT, OUT_OF_SERVICE_VALUE};
use crate::api::read::is_our_taint;
use crate::controller::error::Failure;

impl Effects {
    pub(in crate::controller) async fn node_step(
        &self,
        node: &NodeName,
        step: NodeStep,
    ) -> Completion {
        match step {
            NodeStep::Ask(instance, checks) => {
                self.read_instance_of_node(node, &instance, checks).await
            }
            NodeStep::SetTaint(version, _) => self.taint_node(node, version, true).await,
            NodeStep::RemoveTaint(version) => self.taint_node(node, version, false).await,
        }
    }

    /// Reads the state of the instance of a node, and its status checks if they are asked for.
    async fn read_instance_of_node(
        &self,
        node: &NodeName,
        id: &InstanceId,
        checks: Checks,
    ) -> Completion {
        let checks = async {
            match checks {
                Checks::Asked => Some(self.cloud.impaired_since(id).await),
                Checks::NotAsked => None,
            }
        };
        // At the same time: a slow answer about the checks delays that about the state less.
        let (asked, checks) = tokio::join!(Box::pin(self.cloud.instance(id)), Box::pin(checks));
        let failed = asked.as_ref().err().map(|error| error.outcome);
        let mut called = vec![(Action::DescribeInstances, failed)];
        let mut facts = vec![Fact::NodeAsked(node.clone(), failed)];
        if let Some(impaired) = checks {
            let failed = impaired.as_ref().err().map(|error| error.outcome);
            called.push((Action::DescribeInstanceStatus, failed));
            facts.push(match impaired {
                Ok(since) => Fact::ChecksRead(id.clone(), since),
                Err(error) => {
                    let outcome = error.outcome;
                    self.failed(&Failure::Cloud(error));
                    Fact::ChecksFailed(outcome)
                }
            });
        }
        match instance_read(id, asked) {
            Ok(fact) => facts.push(fact),
            Err(error) => self.failed(&Failure::Cloud(error)),
        }
        Completion { facts, called }
    }

    /// Adds the taint of Mooring to a node, or removes it. The whole list of taints is written. The version guard
    /// protects the taints of others.
    async fn taint_node(
        &self,
        node: &NodeName,
        version: ResourceVersion,
        wanted: bool,
    ) -> Completion {
        let guard = Guard {
            uid: None,
            version: Some(version),
        };
        let object = format!("the taint out-of-service of node {node}");
        let (nodes, name) = (self.apis.nodes(), node.as_str());
        let done = patch(&nodes, &object, name, guard, Subresource::Object, |node| {
            let taints = taints(node, wanted)?;
            Ok(Some(json!({"spec": {"taints": taints}})))
        })
        .await;
        Fact::NodeWrote(node.clone(), self.outcome_of(done)).into()
    }
}

/// The taints of a node with or without the taint of Mooring. Those of others are kept.
fn taints(node: &DynamicObject, wanted: bool) -> Result<Vec<Value>, serde_json::Error> {
    let taints = node.data.get("spec").and_then(|spec| spec.get("taints"));
    let taints = match taints {
        None | Some(Value::Null) => Vec::new(),
        Some(taints) => Vec::<Value>::deserialize(taints)?,
    };
    let mut kept = Vec::with_capacity(taints.len() + 1);
    for taint in taints {
        if !is_our_taint(&Taint::deserialize(&taint)?) {
            kept.push(taint);
        }
    }
    if wanted {
        kept.push(json!({
            "key": OUT_OF_SERVICE_TAINT,
            "value": OUT_OF_SERVICE_VALUE,
            "effect": OUT_OF_SERVICE_EFFECT,
        }));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::taints;
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    fn node(taints: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints},
        }))
        .unwrap()
    }

    fn ours() -> Value {
        json!({"key": "node.kubernetes.io/out-of-service", "value": "mooring", "effect": "NoExecute"})
    }

    fn of_others() -> [Value; 2] {
        [
            json!({
                "key": "node.kubernetes.io/unreachable",
                "effect": "NoExecute",
                "timeAdded": "2026-01-01T00:00:00Z",
            }),
            json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoSchedule"}),
        ]
    }

    #[test]
    fn the_taints_of_others_stay_as_they_are() {
        let [one, other] = of_others();
        let before = node(&json!([one, other]));
        let set = taints(&before, true).unwrap();
        assert_eq!(set, [one.clone(), other.clone(), ours()]);
        let after = node(&Value::from(set));
        assert_eq!(taints(&after, true).unwrap().len(), 3);
        assert_eq!(taints(&after, false).unwrap(), [one, other]);
    }

    #[test]
    fn the_taint_of_a_person_is_not_removed() {
        let person = json!({
            "key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute",
        });
        assert_eq!(taints(&node(&json!([person])), false).unwrap(), [person]);
        assert_eq!(taints(&node(&Value::Null), true).unwrap(), [ours()]);
    }
}
