//! The additions to a pod that asks for an address: exactly these, only once, and nothing else.

use serde_json::{Value, json};

use crate::harness::expectations::GATE;
use crate::harness::objects::{IP, merged};
use crate::harness::scene::{Ip, Scene};

scenes![
    shared a_pod_gets_exactly_the_additions_it_needs,
    shared the_own_fields_of_a_pod_stay,
    shared affinity_is_added_to_every_term_that_is_not_empty,
    shared only_default_tolerations_are_shortened,
    shared the_node_selector_of_the_block_is_required,
    shared mutating_twice_is_mutating_once,
    shared a_pod_that_waits_for_another_is_warned,
];

pub const UID: &str = "ip.wgtwo.com/ip-uid";
const TERMS: &str =
    "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

/// Creates a block with `failoverAfter: 45s`, and an IP in it.
async fn offered(scene: &Scene) -> (String, Ip) {
    let block = scene.block_with(&json!({"failoverAfter": "45s"})).await;
    (block, scene.ip("web", 10).await)
}

fn label_of(block: &str) -> Value {
    json!({"key": format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}"), "operator": "Exists"})
}

async fn uid(scene: &Scene, ip: &Ip) -> String {
    let object = scene.get("IP", &ip.name).await.expect("the IP is there");
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn away(seconds: u32) -> Vec<Value> {
    ["not-ready", "unreachable"]
        .map(|what| {
            json!({"key": format!("node.kubernetes.io/{what}"), "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": seconds})
        })
        .to_vec()
}

async fn a_pod_gets_exactly_the_additions_it_needs(scene: &Scene) {
    let (block, ip) = offered(scene).await;
    let uid = uid(scene, &ip).await;
    // By name and by address.
    for annotation in [&ip.name, &ip.address] {
        let pod = scene
            .would_create(&scene.pod_asking("web", annotation, &json!({})))
            .await;
        let pod = pod.accepted_silently();
        assert_eq!(pod["metadata"]["labels"], json!({IP: ip.name}));
        assert_eq!(
            pod["metadata"]["annotations"],
            json!({IP: annotation, UID: uid})
        );
        assert_eq!(
            pod["spec"]["readinessGates"],
            json!([{"conditionType": GATE}])
        );
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": [label_of(&block)]}]}}});
        assert_eq!(pod["spec"]["affinity"], affinity);
        assert_eq!(pod["spec"]["tolerations"], Value::from(away(45)));
    }
}

/// The pod without the fields that identify one object.
pub fn anonymous(mut pod: Value) -> Value {
    for field in [
        "uid",
        "creationTimestamp",
        "resourceVersion",
        "managedFields",
        "generation",
    ] {
        pod["metadata"].as_object_mut().unwrap().remove(field);
    }
    pod
}

/// Pod fields that a careful user sets.
fn rich() -> Value {
    json!({
        "metadata": {
            "labels": {"app": "web", "tier": "front/edge".replace('/', "-")},
            "annotations": {"example.com/slash_tilde": "a/b~c", "ip.wgtwo.com/handover": "running"},
            "finalizers": ["example.com/hold"],
        },
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "readinessGates": [{"conditionType": "example.com/own"}],
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "edge", "effect": "NoSchedule"}],
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
                "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "web"}}}}]}},
            "hostNetwork": true,
            "priority": 0,
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [{"name": "main", "image": "registry.example/main:1",
                "ports": [{"containerPort": 80}],
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                "env": [{"name": "A", "value": "b"}]}],
            "initContainers": [{"name": "first", "image": "registry.example/first:1"}],
        },
    })
}

async fn the_own_fields_of_a_pod_stay(scene: &Scene) {
    let (block, ip) = offered(scene).await;
    let uid = uid(scene, &ip).await;
    let asking = scene.pod_asking("web", &ip.name, &rich());
    let silent = merged(
        asking.clone(),
        &json!({"metadata": {"annotations": {IP: null}}}),
    );
    let with = anonymous(scene.would_create(&asking).await.accepted_silently());
    let mut without = anonymous(scene.would_create(&silent).await.accepted_silently());
    // The pod without an IP plus the additions must be equal to the pod with an IP.
    without["metadata"]["labels"][IP] = ip.name.clone().into();
    without["metadata"]["annotations"][IP] = ip.name.clone().into();
    without["metadata"]["annotations"][UID] = uid.into();
    without["spec"]["affinity"]["nodeAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [label_of(&block)]}]}});
    let gates = without["spec"]["readinessGates"].as_array_mut().unwrap();
    gates.push(json!({"conditionType": GATE}));
    for toleration in without["spec"]["tolerations"].as_array_mut().unwrap() {
        if toleration["tolerationSeconds"] == 300 {
            toleration["tolerationSeconds"] = 45.into();
        }
    }
    assert_eq!(with, without);
}

async fn affinity_is_added_to_every_term_that_is_not_empty(scene: &Scene) {
    let (block, ip) = offered(scene).await;
    let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]});
    let field = json!({"key": "metadata.name", "operator": "In", "values": ["n"]});
    let terms = json!([
        {"matchExpressions": [zone]},
        {},
        {"matchFields": [field]},
        {"matchExpressions": [label_of(&block)]},
    ]);
    let preferred = json!([{"weight": 1, "preference": {"matchExpressions": [zone]}}]);
    let pod = json!({"spec": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
        "preferredDuringSchedulingIgnoredDuringExecution": preferred}}}});
    let pod = scene
        .would_create(&scene.pod_asking("web", &ip.name, &pod))
        .await;
    let pod = pod.accepted_silently();
    let expected = json!([
        {"matchExpressions": [zone, label_of(&block)]},
        {},
        {"matchFields": [field], "matchExpressions": [label_of(&block)]},
        {"matchExpressions": [label_of(&block)]},
    ]);
    assert_eq!(pod.pointer(TERMS), Some(&expected));
    let node = &pod["spec"]["affinity"]["nodeAffinity"];
    assert_eq!(
        node["preferredDuringSchedulingIgnoredDuringExecution"],
        preferred
    );
}

async fn only_default_tolerations_are_shortened(scene: &Scene) {
    let (_, ip) = offered(scene).await;
    let own = json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists",
        "effect": "NoExecute", "tolerationSeconds": 20});
    let pod = json!({"spec": {"tolerations": [own]}});
    let pod = scene
        .would_create(&scene.pod_asking("web", &ip.name, &pod))
        .await;
    let pod = pod.accepted_silently();
    assert_eq!(pod["spec"]["tolerations"], json!([own, away(45)[0]]));
    // A toleration of all taints without a limit is a decision of the user too, so it stays.
    let every = json!({"operator": "Exists"});
    let pod = json!({"spec": {"tolerations": [every]}});
    let pod = scene
        .would_create(&scene.pod_asking("web", &ip.name, &pod))
        .await;
    assert_eq!(
        pod.accepted_silently()["spec"]["tolerations"],
        json!([every])
    );
}

async fn the_node_selector_of_the_block_is_required(scene: &Scene) {
    let selector = json!({"nodeSelector": {"matchLabels": {"edge": "yes", "pool": "a"}}});
    scene.block_with(&selector).await;
    let ip = scene.ip("web", 10).await;
    let pod = scene
        .would_create(&scene.pod_asking("web", &ip.name, &json!({})))
        .await;
    let expected = json!([{"matchExpressions": [
        {"key": "edge", "operator": "In", "values": ["yes"]},
        {"key": "pool", "operator": "In", "values": ["a"]}]}]);
    assert_eq!(pod.accepted_silently().pointer(TERMS), Some(&expected));
    let elsewhere = json!({"spec": {"nodeSelector": {"pool": "b"}}});
    let pod = scene
        .would_create(&scene.pod_asking("web", &ip.name, &elsewhere))
        .await;
    pod.rejected(&["pool=a", "nodeSelector"]);
}

async fn mutating_twice_is_mutating_once(scene: &Scene) {
    let (_, ip) = offered(scene).await;
    for changes in [json!({}), rich()] {
        let pod = scene.pod_asking("web", &ip.name, &changes);
        let once = anonymous(scene.would_create(&pod).await.accepted_silently());
        let twice = anonymous(scene.would_create(&once).await.accepted_silently());
        assert_eq!(once, twice);
    }
}

async fn a_pod_that_waits_for_another_is_warned(scene: &Scene) {
    let (block, ip) = offered(scene).await;
    let node = scene.node("a").await;
    scene.expect_labelled(&node.name, &block).await;
    scene.pod("web", &ip).await;
    scene.expect_attached(&ip, "web").await;
    let second = scene.pod_asking("second", &ip.name, &json!({}));
    let answer = scene.would_create(&second).await;
    answer.warns(&[&ip.name, "held by pod", &format!("{}/web", scene.name)]);
}
