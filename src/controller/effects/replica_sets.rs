//! The `ReplicaSet`s of a rollout. They are never watched: a cluster has many, and a decision needs few.

use kube::api::ListParams;
use mooring_plan::facts::Fact;
use mooring_plan::names::PodKey;

use super::Effects;
use super::reads::get;
use super::timeout::with_timeout;
use crate::api::read;
use crate::controller::error::Failure;

impl Effects {
    /// The pod's `ReplicaSet` and every other one of its Deployment.
    pub(super) async fn replica_sets(&self, pod: &PodKey, name: &str) -> Result<Fact, Failure> {
        let sets = self.apis.replica_sets(&pod.namespace);
        let doing = || format!("reading ReplicaSet {}/{name} of pod {pod}", pod.namespace);
        let unreadable = |source| Failure::Unreadable {
            doing: doing(),
            source,
        };
        // Read with the pod: a new set of that name is not the pod's.
        let found = get(&self.apis.pods(&pod.namespace), &pod.name, doing, read::pod).await?;
        let of = found
            .as_ref()
            .and_then(|pod| pod.replica_set())
            .map(|(_, uid)| uid.clone());
        let Some(of) = of else {
            return Ok(Fact::PodRead(pod.clone(), found));
        };
        let none = || Ok(Fact::ReplicaSetsRead(of.clone(), Vec::new()));
        let Some(object) = with_timeout(doing, sets.get_opt(name)).await? else {
            return none();
        };
        let object = object.into();
        let own = read::replica_set(&object).map_err(unreadable)?;
        if own.uid != of {
            return none();
        }
        let selector = read::template_selector(&object).map_err(unreadable)?;
        let Some(deployment) = own.deployment.clone() else {
            return Ok(Fact::ReplicaSetsRead(of, vec![own]));
        };
        let params = ListParams {
            label_selector: selector,
            ..ListParams::default()
        };
        let list = with_timeout(doing, sets.list(&params)).await?;
        let mut siblings = list
            .items
            .into_iter()
            .map(|object| read::replica_set(&object.into()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(unreadable)?;
        siblings.retain(|set| set.deployment.as_ref() == Some(&deployment));
        if !siblings.iter().any(|set| set.uid == own.uid) {
            siblings.push(own);
        }
        Ok(Fact::ReplicaSetsRead(of, siblings))
    }
}
