//! For pods with random fields: the API server accepts the pod with the additions of Mooring, and all fields of the
//! user stay unchanged. `MOORING_PODS` sets a larger number of pods than a run of all tests has time for.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::expectations::GATE;
use crate::harness::objects::{IP, merged};
use crate::harness::scene::Scene;
use crate::pod_additions::{UID, anonymous};

scenes![
    shared a_pod_of_any_kind_is_accepted_and_keeps_its_fields,
];

const PODS: usize = 60;
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// One of these options, or no field.
fn maybe(options: Vec<Value>) -> BoxedStrategy<Value> {
    proptest::option::of(proptest::sample::select(options))
        .prop_map(|chosen| chosen.unwrap_or_else(|| json!({})))
        .boxed()
}

fn expression() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({"key": "role", "operator": "In", "values": ["edge", "batch"]}),
        json!({"key": "role", "operator": "NotIn", "values": ["edge"]}),
        json!({"key": "topology.kubernetes.io/zone", "operator": "Exists"}),
        json!({"key": "example.com/spot", "operator": "DoesNotExist"}),
        json!({"key": "cores", "operator": "Gt", "values": ["4"]}),
    ])
}

fn term() -> impl Strategy<Value = Value> {
    let expressions = proptest::option::of(proptest::collection::vec(expression(), 0..3));
    (expressions, any::<bool>()).prop_map(|(expressions, fields)| {
        let mut term = json!({});
        if let Some(expressions) = expressions {
            term["matchExpressions"] = expressions.into();
        }
        if fields {
            term["matchFields"] =
                json!([{"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]}]);
        }
        term
    })
}

fn node_affinity() -> BoxedStrategy<Value> {
    let (zone, one) = (
        json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}),
        json!({"spec": {"affinity": {}}}),
    );
    let preferred = json!([{"weight": 7, "preference": zone}]);
    let terms = proptest::collection::vec(term(), 1..4);
    let required = (terms, any::<bool>()).prop_map(move |(terms, both)| {
        let mut affinity = json!({REQUIRED: {"nodeSelectorTerms": terms}});
        if both {
            affinity[PREFERRED] = preferred.clone();
        }
        json!({"spec": {"affinity": {"nodeAffinity": affinity}}})
    });
    prop_oneof![
        Just(json!({})),
        Just(one),
        Just(json!({"spec": {"affinity": {"nodeAffinity": {}}}})),
        required
    ]
    .boxed()
}

/// Never exactly the tolerations that Kubernetes adds by default: these cannot be distinguished from those of the user.
fn tolerations() -> BoxedStrategy<Value> {
    let one = proptest::sample::select(vec![
        json!({"operator": "Exists"}),
        json!({"key": "dedicated", "operator": "Equal", "value": "edge", "effect": "NoSchedule"}),
        json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": 20}),
        json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}),
        json!({"key": "own", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
        json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}),
    ]);
    proptest::option::of(proptest::collection::vec(one, 0..4))
        .prop_map(|list| {
            list.map_or_else(|| json!({}), |list| json!({"spec": {"tolerations": list}}))
        })
        .boxed()
}

/// Changes to the metadata and to the scheduling fields.
fn placed() -> Vec<BoxedStrategy<Value>> {
    let anti = json!([{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]);
    vec![
        node_affinity(),
        tolerations(),
        maybe(vec![
            json!({"metadata": {"labels": {"app": "web", "app.kubernetes.io/part-of": "shop"}}}),
            json!({"metadata": {"labels": {"app": ""}}}),
        ]),
        maybe(vec![
            json!({"metadata": {"annotations": {"example.com/slash_tilde": "a/b~c\n\"d\" \u{1f6a2}"}}}),
            json!({"metadata": {"annotations": {"ip.wgtwo.com/handover": "running", "empty": ""}}}),
        ]),
        maybe(vec![
            json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        ]),
        maybe(vec![
            json!({"spec": {"nodeSelector": {"kubernetes.io/os": "linux", "disk": ""}}}),
            json!({"spec": {"schedulingGates": [{"name": "example.com/later"}]}}),
        ]),
        maybe(vec![
            json!({"spec": {"readinessGates": [{"conditionType": "example.com/own"}]}}),
            json!({"spec": {"readinessGates": []}}),
            json!({"spec": {"readinessGates": [{"conditionType": GATE}, {"conditionType": "example.com/own"}]}}),
        ]),
        maybe(vec![
            json!({"spec": {"affinity": {"podAntiAffinity": {REQUIRED: anti}}}}),
            json!({"spec": {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": anti[0]}]}}}}),
        ]),
        maybe(vec![
            json!({"spec": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]}}),
        ]),
    ]
}

/// Changes to the containers and to how they run.
fn running() -> Vec<BoxedStrategy<Value>> {
    vec![
        maybe(vec![
            json!({"spec": {"hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet"}}),
            json!({"spec": {"hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a.test"]}], "hostname": "web"}}),
        ]),
        maybe(vec![
            json!({"spec": {"securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 2000}}}),
            json!({"spec": {"shareProcessNamespace": true, "enableServiceLinks": false}}),
        ]),
        maybe(vec![
            json!({"spec": {"restartPolicy": "Never", "activeDeadlineSeconds": 60}}),
            json!({"spec": {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 45}}),
        ]),
        maybe(vec![json!({"spec": {"initContainers": [
                {"name": "first", "image": "registry.example/first:1"},
                {"name": "beside", "image": "registry.example/beside:1", "restartPolicy": "Always"}]}})]),
        maybe(vec![
            json!({"spec": {"containers": [{"name": "main", "image": "registry.example/main@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "command": ["/bin/sh", "-c"], "args": ["echo $(A) \\ \"b\""],
                "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "protocol": "UDP"}],
                "env": [{"name": "A", "value": ""}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
                "resources": {"requests": {"cpu": "0.1", "memory": "1e6"}, "limits": {"memory": "128Mi"}}}]}}),
            json!({"spec": {"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
                    {"name": "settings", "configMap": {"name": "settings", "optional": true, "defaultMode": 256}}],
                "containers": [
                {"name": "main", "image": "registry.example/main:1", "imagePullPolicy": "Always",
                    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch", "subPath": "a/b"}],
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
                    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "1"]}}},
                    "securityContext": {"readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}},
                {"name": "side", "image": "registry.example/side:1",
                    "volumeMounts": [{"name": "settings", "mountPath": "/settings", "readOnly": true}]}]}}),
        ]),
        maybe(vec![
            json!({"spec": {"os": {"name": "linux"}}}),
            json!({"spec": {"schedulerName": "own", "subdomain": "shop", "setHostnameAsFQDN": false}}),
            json!({"spec": {"imagePullSecrets": [{"name": "pull"}], "serviceAccountName": "default"}}),
        ]),
    ]
}

/// A random merge patch with pod fields that a user can set.
fn random_fields() -> impl Strategy<Value = Value> {
    let parts: Vec<_> = placed().into_iter().chain(running()).collect();
    parts.prop_map(|parts| {
        let merge = |all: Value, part: Value| merged(all, &part);
        parts.into_iter().fold(json!({}), merge)
    })
}

/// The pod without its status, which comes from the API server, and without the fields that identify one object.
fn comparable(mut pod: Value) -> Value {
    pod.as_object_mut().unwrap().remove("status");
    anonymous(pod)
}

/// The expected pod: the original pod with exactly the additions for this IP.
fn with_additions(mut pod: Value, asked: &Value, ip: &str, uid: &str, block: &str) -> Value {
    pod["metadata"]["labels"][IP] = ip.into();
    pod["metadata"]["annotations"][IP] = ip.into();
    pod["metadata"]["annotations"][UID] = uid.into();
    let gate = json!({"conditionType": GATE});
    let gates = &mut pod["spec"]["readinessGates"];
    match gates.as_array_mut() {
        Some(gates) if gates.contains(&gate) => {}
        Some(gates) => gates.push(gate),
        None => *gates = json!([gate]),
    }
    let label = json!({"key": format!("ip.wgtwo.com.node-restriction.kubernetes.io/{block}"), "operator": "Exists"});
    let required = &mut pod["spec"]["affinity"]["nodeAffinity"][REQUIRED];
    match required["nodeSelectorTerms"].as_array_mut() {
        // An empty term selects no node. With an expression it would select nodes, so it stays empty.
        Some(terms) => terms
            .iter_mut()
            .filter(|term| term.as_object().is_some_and(|term| !term.is_empty()))
            .for_each(|term| match term["matchExpressions"].as_array_mut() {
                Some(expressions) => expressions.push(label.clone()),
                None => term["matchExpressions"] = json!([label]),
            }),
        None => *required = json!({"nodeSelectorTerms": [{"matchExpressions": [label]}]}),
    }
    let own = asked["spec"]["tolerations"].as_array();
    for toleration in pod["spec"]["tolerations"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if own.is_none_or(|own| !own.contains(toleration)) {
            toleration["tolerationSeconds"] = 45.into();
        }
    }
    pod
}

async fn a_pod_of_any_kind_is_accepted_and_keeps_its_fields(scene: &Scene) {
    let block = scene.block_with(&json!({"failoverAfter": "45s"})).await;
    let ip = scene.ip("web", 10).await;
    let object = scene.get("IP", &ip.name).await.expect("the IP is there");
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let pods = mooring_cluster::count("MOORING_PODS", PODS);
    // With the default number the pods are the same in each run. Another number uses a random seed.
    let mut runner = if pods == PODS {
        TestRunner::deterministic()
    } else {
        TestRunner::default()
    };
    for _ in 0..pods {
        let fields = random_fields().new_tree(&mut runner).unwrap().current();
        let asking = scene.pod_asking("web", &ip.name, &fields);
        let unannotated = merged(
            asking.clone(),
            &json!({"metadata": {"annotations": {IP: null}}}),
        );
        let without = comparable(scene.would_create(&unannotated).await.accepted());
        let with = comparable(scene.would_create(&asking).await.accepted());
        let expected = with_additions(without, &asking, &ip.name, uid, &block);
        assert_eq!(with, expected, "of {asking:#}");
    }
    println!(
        "verified: {pods} pods of any kind are accepted with what they were given, and nothing else in them differs"
    );
}
