//! Measures the cost of pods without the annotation.

use futures::{StreamExt as _, stream};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::json;

use super::cluster::Bench;
use super::figures::Figure;

const PODS: usize = 100_000;
const AT_ONCE: usize = 64;
/// The audit policy does not log the objects of this namespace.
const NAMESPACE: &str = "plain-pods";

pub async fn memory(bench: &mut Bench<'_>) {
    bench.quiet_leader().await;
    let before = bench.memory();
    bench.scene.cluster().add_namespace(NAMESPACE).await;
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    let pods: Api<DynamicObject> =
        Api::namespaced_with(bench.scene.client.clone(), NAMESPACE, &resource);
    let created = (0..PODS).map(|number| {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("plain-{number}")},
            // No scheduler has this name, so the pods stay pending.
            "spec": {"schedulerName": "none", "automountServiceAccountToken": false,
                "containers": [{"name": "main", "image": "registry.example/main:1"}]}});
        let pods = pods.clone();
        async move {
            let pod = serde_json::from_value(pod).expect("a pod");
            pods.create(&PostParams::default(), &pod).await.expect("it is admitted");
        }
    });
    let mut created = stream::iter(created).buffer_unordered(AT_ONCE);
    let mut count = 0_usize;
    while created.next().await.is_some() {
        count += 1;
        if count.is_multiple_of(10_000) {
            println!("bench: {count} pods");
        }
    }
    bench.quiet_leader().await;
    let after = bench.memory();
    bench.restart().await;
    let again = bench.memory();
    Figure::new(
        "plain-pods",
        "memory before and after 100,000 pods without an annotation, and after a restart",
    )
    .goal("2 MiB more")
    .is(format!("{before:.0} / {after:.0} / {again:.0} MiB"));
}
