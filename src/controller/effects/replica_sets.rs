//! Reads the `ReplicaSet`s of a rollout. They are not watched, because a cluster has many and a decision needs few.

use kube::api::ListParams;
use mooring_plan::facts::Fact;
use mooring_plan::names::PodKey;

use super::Effects;
use super::reads::get;
use super::timeout::with_timeout;
use crate::api::read;
use crate::controller::error::Failure;

impl Effects {
    /// Reads the `ReplicaSet` of this name, and all that its labels select: those of its Deployment are among them.
    pub(super) async fn replica_sets(&self, pod: &PodKey, name: &str) -> Result<Fact, Failure> {
        let sets = self.apis.replica_sets(&pod.namespace);
        let doing = || format!("reading ReplicaSet {}/{name} of pod {pod}", pod.namespace);
        let unreadable = |source| Failure::Unreadable {
            doing: doing(),
            source,
        };
        // Read the pod too: a new `ReplicaSet` of the same name does not belong to the pod.
        let found = get(&self.apis.pods(&pod.namespace), &pod.name, doing, read::pod).await?;
        let of = found
            .as_ref()
            .and_then(|pod| pod.replica_set())
            .map(|(_, uid)| uid.clone());
        let Some(of) = of else {
            return Ok(Fact::PodRead(pod.clone(), found));
        };
        let mut read = Vec::new();
        if let Some(object) = with_timeout(doing, sets.get_opt(name)).await? {
            let object = object.into();
            let own = read::replica_set(&object).map_err(unreadable)?;
            let with_siblings = own.deployment.is_some();
            read.push(own);
            if with_siblings {
                let selector = read::template_selector(&object).map_err(unreadable)?;
                let params = ListParams {
                    label_selector: selector,
                    ..ListParams::default()
                };
                for object in with_timeout(doing, sets.list(&params)).await?.items {
                    read.push(read::replica_set(&object.into()).map_err(unreadable)?);
                }
            }
        }
        Ok(Fact::ReplicaSetsRead(of, read))
    }
}
