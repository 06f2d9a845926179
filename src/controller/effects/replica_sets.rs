//! Reads the `ReplicaSet`s of a rollout. They are not watched, because a cluster has many and a decision needs few.

use kube::api::ListParams;
use mooring_plan::facts::Fact;
use mooring_plan::names::PodKey;

use super::Effects;
use super::reads::get;
use super::timeout::with_timeout;
use crate::api::{read, watching};
use crate::controller::error::Failure;

/// Page size of the list. A user can make `ReplicaSet`s of 1.5 MB, and an answer is in memory as a whole. A Deployment has
/// 11 of them by default.
const PAGE: u32 = 15;

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
                let mut next = Some(ListParams {
                    label_selector: selector,
                    ..watching::list().limit(PAGE)
                });
                while let Some(params) = next {
                    // A page that the API server no longer has (410) is a failed read: the next one begins again.
                    let page = with_timeout(doing, sets.list(&params)).await?;
                    for object in page.items {
                        read.push(read::replica_set(&object.into()).map_err(unreadable)?);
                    }
                    next = watching::next_page(&params, page.metadata.continue_);
                }
            }
        }
        Ok(Fact::ReplicaSetsRead(of, read))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mooring_plan::facts::Fact;
    use mooring_plan::names::PodKey;
    use serde_json::{Value, json};

    use super::Effects;
    use crate::fake_api::{failure, half_open_api_server};

    fn object(kind: &str, name: &str, owner: (&str, &str)) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": owner.0, "name": owner.1,
            "uid": format!("uid-{}", owner.1), "controller": true});
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop",
            "uid": format!("uid-{name}"), "resourceVersion": "7", "ownerReferences": [owner]},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}})
    }

    /// Reads the `ReplicaSet`s of a pod from an API server that has two pages of them, and answers the request for the
    /// second one with this code. Returns the queries for pages too.
    async fn read(code: u16) -> (Vec<String>, Result<Fact, super::Failure>) {
        let queries = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&queries);
        let set = |name: &str| object("ReplicaSet", name, ("Deployment", "web"));
        let client = half_open_api_server(move |head, _| {
            let query = head.uri.query().unwrap_or_default().to_owned();
            let page = |name: &str, token: Option<&str>| {
                let metadata = json!({"resourceVersion": "9", "continue": token});
                json!({"metadata": metadata, "items": [set(name)]})
            };
            let path = head.uri.path();
            Some(match path.rsplit('/').next().unwrap_or_default() {
                "web-1-a" => (200, object("Pod", "web-1-a", ("ReplicaSet", "web-1"))),
                "web-1" => (200, set("web-1")),
                "replicasets" => {
                    seen.lock().unwrap().push(query.clone());
                    match (query.contains("continue=more"), code) {
                        (false, _) => (200, page("web-2", Some("more"))),
                        (true, 200) => (200, page("web-3", None)),
                        (true, code) => failure(code),
                    }
                }
                other => panic!("{other}"),
            })
        });
        let pod = PodKey {
            namespace: "shop".into(),
            name: "web-1-a".to_owned(),
        };
        let fact = Effects::of_client(client).replica_sets(&pod, "web-1").await;
        let queries = queries.lock().unwrap().clone();
        (queries, fact)
    }

    #[tokio::test]
    async fn the_replica_sets_of_a_deployment_are_read_in_pages() {
        let (queries, fact) = read(200).await;
        let limited = queries.iter().all(|query| query.contains("limit="));
        assert!(limited && queries.len() == 2, "{queries:?}");
        let Fact::ReplicaSetsRead(_, sets) = fact.unwrap() else {
            panic!("the pod has a ReplicaSet")
        };
        let read: Vec<String> = sets.iter().map(|set| set.uid.to_string()).collect();
        assert_eq!(read, ["uid-web-1", "uid-web-2", "uid-web-3"]);
    }

    #[tokio::test]
    async fn a_page_that_the_api_server_does_not_have_any_more_is_a_failed_read() {
        let (queries, fact) = read(410).await;
        assert_eq!(queries.len(), 2);
        assert!(
            fact.is_err(),
            "a part of the ReplicaSets is not all of them"
        );
    }
}
