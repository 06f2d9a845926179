//! `config/webhook` registers the webhook for exactly the requests that it must review, at paths that it serves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::path::Path;

use kube::core::cel::KubeCelExt as _;
use kube::core::cel::cel::{Context, Program, Value as Outcome};
use mooring::admission::PATHS;
use mooring::api::names;
use serde_json::{Value, json};

fn manifest(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("config/webhook")
        .join(file);
    serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn webhooks() -> Vec<Value> {
    let both = ["mutating.yaml", "validating.yaml"].map(manifest);
    both.iter()
        .flat_map(|manifest| manifest["webhooks"].as_array().unwrap().clone())
        .collect()
}

fn webhook(name: &str) -> Value {
    webhooks()
        .into_iter()
        .find(|webhook| webhook["name"] == name)
        .expect(name)
}

#[test]
fn exactly_the_served_paths_are_registered() {
    let mut asked: Vec<_> = webhooks()
        .iter()
        .map(|w| {
            w["clientConfig"]["service"]["path"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    asked.sort();
    asked.dedup();
    let mut served = PATHS.map(str::to_owned);
    served.sort();
    assert_eq!(asked, served);
}

#[test]
fn the_kustomization_names_every_file() {
    assert_eq!(
        manifest("kustomization.yaml")["resources"],
        json!(["mutating.yaml", "validating.yaml"])
    );
}

#[test]
fn both_configurations_are_named_mooring_and_get_their_ca_from_cert_manager() {
    for file in ["mutating.yaml", "validating.yaml"] {
        let metadata = &manifest(file)["metadata"];
        assert_eq!(metadata["name"], "mooring");
        assert_eq!(
            metadata["annotations"]["cert-manager.io/inject-ca-from"],
            "mooring-system/mooring-webhook"
        );
    }
}

#[test]
fn every_webhook_has_a_failure_policy_and_a_short_timeout() {
    for webhook in webhooks() {
        let name = webhook["name"].as_str().unwrap();
        let service = &webhook["clientConfig"]["service"];
        assert_eq!(
            (&service["namespace"], &service["name"]),
            (&json!("mooring-system"), &json!("mooring-webhook")),
            "{name}"
        );
        // The webhook itself answers within 3 s.
        assert_eq!(webhook["timeoutSeconds"], 4, "{name}");
        assert_eq!(
            (&webhook["sideEffects"], &webhook["matchPolicy"]),
            (&json!("None"), &json!("Equivalent")),
            "{name}"
        );
        let fails = if name == "delete-ip.ip.wgtwo.com" {
            "Ignore"
        } else {
            "Fail"
        };
        assert_eq!(webhook["failurePolicy"], fails, "{name}");
    }
    assert_eq!(
        webhook("mutate-pod.ip.wgtwo.com")["reinvocationPolicy"],
        "IfNeeded"
    );
}

#[test]
fn our_namespace_and_kube_system_are_excluded() {
    let elsewhere = json!({"matchExpressions": [{
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["mooring-system", "kube-system"],
    }]});
    let pods = webhooks().into_iter().filter(|w| {
        w["clientConfig"]["service"]["path"]
            .as_str()
            .unwrap()
            .ends_with("/pod")
    });
    for webhook in pods {
        assert_eq!(
            webhook["namespaceSelector"], elsewhere,
            "{}",
            webhook["name"]
        );
    }
}

#[test]
fn each_webhook_has_its_operations() {
    let asks = |name: &str| {
        let rules = webhook(name)["rules"].clone();
        (
            rules[0]["operations"].clone(),
            rules[0]["resources"].clone(),
        )
    };
    let both = json!(["CREATE", "UPDATE"]);
    assert_eq!(
        asks("mutate-pod.ip.wgtwo.com"),
        (json!(["CREATE"]), json!(["pods"]))
    );
    assert_eq!(
        asks("create-pod.ip.wgtwo.com"),
        (json!(["CREATE"]), json!(["pods"]))
    );
    assert_eq!(asks("ip.ip.wgtwo.com"), (both.clone(), json!(["ips"])));
    assert_eq!(
        asks("delete-ip.ip.wgtwo.com"),
        (json!(["DELETE"]), json!(["ips"]))
    );
    assert_eq!(asks("ipblock.ip.wgtwo.com"), (both, json!(["ipblocks"])));
    assert_eq!(
        asks("delete-ipblock.ip.wgtwo.com"),
        (json!(["DELETE"]), json!(["ipblocks"]))
    );
}

/// Do the match conditions send the request to the webhook? An error in an expression fails the test, because with
/// `failurePolicy: Fail` it would refuse the request.
fn matches(name: &str, operation: &str, old: &Value, new: &Value) -> bool {
    let conditions = webhook(name)["matchConditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    conditions.iter().all(|condition| {
        let program = Program::compile(condition["expression"].as_str().unwrap()).unwrap();
        let mut context = Context::default().with_all();
        context.add_variable("object", new).unwrap();
        context.add_variable("oldObject", old).unwrap();
        context
            .add_variable("request", json!({"operation": operation}))
            .unwrap();
        match program.execute(&context) {
            Ok(Outcome::Bool(matched)) => matched,
            other => panic!("{name}: {other:?}"),
        }
    })
}

fn pod(annotations: &Value, labels: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": "web"}, "spec": {}});
    for (field, value) in [("annotations", annotations), ("labels", labels)] {
        if !value.is_null() {
            pod["metadata"][field] = value.clone();
        }
    }
    pod
}

#[test]
fn created_pods_are_reviewed_only_with_the_annotation() {
    for name in ["mutate-pod.ip.wgtwo.com", "create-pod.ip.wgtwo.com"] {
        let asked = |annotations: Value| {
            matches(
                name,
                "CREATE",
                &Value::Null,
                &pod(&annotations, &Value::Null),
            )
        };
        assert!(asked(json!({names::IP_ANNOTATION: "partner-a"})));
        assert!(asked(json!({names::IP_ANNOTATION: ""})));
        assert!(!asked(json!({"example.com/ip": "partner-a"})));
        assert!(!asked(json!({})));
        assert!(!asked(Value::Null));
        // A key that only resembles one of ours is reviewed too. Otherwise the pod would run without its address.
        for resembles in [
            "ip.wgtwo.com/IP",
            "ip.wgtwo.com/Ip",
            "IP.wgtwo.com/ip",
            "ip.wgtwo.com/hand-over",
            "ip.wgtwo.com/take-from",
        ] {
            assert!(
                asked(json!({"a": "b", resembles: "partner-a"})),
                "{resembles}"
            );
        }
        for other in [
            names::IP_UID_ANNOTATION,
            names::HANDOVER_ANNOTATION,
            names::DENIED_AT_ANNOTATION,
            "block.ip.wgtwo.com/x",
            "xip.wgtwo.com/ip",
            "ip.wgtwo.com",
        ] {
            assert!(!asked(json!({other: "partner-a"})), "{other}");
        }
        // A pod with more than 1,000 annotations is checked for the exact key only: a check of all annotations would delay
        // the API server.
        let mut many: serde_json::Map<_, _> =
            (0..1000).map(|n| (n.to_string(), json!(""))).collect();
        many.insert("ip.wgtwo.com/IP".to_owned(), json!("partner-a"));
        assert!(!asked(many.clone().into()));
        many.insert(names::IP_ANNOTATION.to_owned(), json!("partner-a"));
        assert!(asked(many.into()));
    }
}

#[test]
fn a_changed_take_from_is_reviewed() {
    let changed = |old: &Value, new: &Value| matches("ip.ip.wgtwo.com", "UPDATE", old, new);
    let (none, empty) = (pod(&Value::Null, &Value::Null), pod(&json!({}), &json!({})));
    let from = |value: &str| {
        let annotations = json!({"a": "b", names::TAKE_FROM_ANNOTATION: value});
        pod(&annotations, &Value::Null)
    };
    for old in [&none, &empty, &from("eni-1")] {
        assert!(changed(old, &from("eni-2")), "{old}");
        // Mooring itself removes the annotation, and must not depend on its webhook for that.
        for new in [&none, &empty] {
            assert!(
                !changed(old, new) && !changed(&from(""), new),
                "{old} {new}"
            );
        }
    }
    let mut released = from("eni-1");
    released["metadata"]["finalizers"] = json!([]);
    assert!(!changed(&from("eni-1"), &released) && !changed(&from(""), &from("")));
}

#[test]
fn an_update_of_ip_or_block_is_reviewed_only_for_a_changed_spec() {
    let object = |address: &str| json!({"metadata": {"name": "a"}, "spec": {"address": address}});
    let mut released = object("203.0.113.7");
    released["metadata"]["finalizers"] = json!([]);
    released["status"] = json!({"claimed": true});
    for name in ["ip.ip.wgtwo.com", "ipblock.ip.wgtwo.com"] {
        assert!(matches(
            name,
            "CREATE",
            &Value::Null,
            &object("203.0.113.7")
        ));
        assert!(matches(
            name,
            "UPDATE",
            &object("203.0.113.7"),
            &object("203.0.113.8")
        ));
        assert!(!matches(name, "UPDATE", &object("203.0.113.7"), &released));
    }
}
