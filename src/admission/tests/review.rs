//! Every body is answered with a review, also a body that is not valid.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::http::{Scripted, post, webhook};
use super::{asking, office, rejects};
use crate::admission::review::{answer, read};
use crate::admission::{Allowed, Operation, Verdict};

fn body(request: Value) -> Vec<u8> {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
        .into_bytes()
}

fn expect_malformed(body: &[u8], uid: &str, part: &str) {
    let malformed = read::<Pod>(body).unwrap_err();
    assert_eq!(malformed.uid, uid);
    rejects(Err(malformed.denial), part);
}

#[test]
fn an_unreadable_body_is_answered_with_its_uid() {
    expect_malformed(b"no json", "", "cannot be read as JSON");
    expect_malformed(b"[]", "", "has no request");
    expect_malformed(&body(Value::Null), "", "has no request");
    expect_malformed(
        &body(json!({"uid": "one"})),
        "one",
        "request.operation is \"\"",
    );
    expect_malformed(
        &body(json!({"uid": "one", "operation": "CONNECT"})),
        "one",
        "request.operation is \"CONNECT\"",
    );
    expect_malformed(
        &body(json!({"uid": "one", "operation": "CREATE"})),
        "one",
        "request.object cannot be read",
    );
    let wrong = json!({"uid": "one", "operation": "CREATE", "object": {"kind": "Node", "apiVersion": "v1"}});
    expect_malformed(&body(wrong), "one", "request.object cannot be read");
}

#[test]
fn a_request_is_read_with_object_and_old_object() {
    let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}});
    let update = json!({
        "uid": "one", "operation": "UPDATE", "namespace": "shop", "dryRun": true,
        "object": pod("new"), "oldObject": pod("old"), "userInfo": {}, "unknownField": 1,
    });
    let request = read::<Pod>(&body(update)).unwrap();
    assert_eq!(
        (request.uid.as_str(), request.namespace.as_str()),
        ("one", "shop")
    );
    let Operation::Update { old, new } = request.operation else {
        panic!("{request:?}")
    };
    assert_eq!(
        (old.metadata.name.as_deref(), new.metadata.name.as_deref()),
        (Some("old"), Some("new"))
    );
}

#[test]
fn only_the_needed_fields_of_a_pod_are_read() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"volumes": [{}, {}], "containers": [{}], "nodeName": "n", "nodeSelector": {"a": "b"},
            "affinity": {"nodeAffinity": {}, "podAffinity": {}}, "readinessGates": [{"conditionType": "x"}],
            "serviceAccountName": "shop", "tolerations": [{"key": "t"}]},
        "status": {"phase": "Running"}});
    let create = json!({"uid": "one", "operation": "CREATE", "object": pod});
    let Operation::Create(read) = read::<Pod>(&body(create)).unwrap().operation else {
        panic!("it is a creation")
    };
    let seen = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [], "nodeName": "n", "nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}},
            "readinessGates": [{"conditionType": "x"}], "serviceAccountName": "shop", "tolerations": [{"key": "t"}]}});
    assert_eq!(serde_json::to_value(read).unwrap(), seen);
}

#[test]
fn a_list_is_not_read_as_an_object() {
    let wrong = [
        json!(["v1", "Pod", {}, null]),
        json!({"apiVersion": "v1", "kind": "Pod", "spec": [null]}),
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"affinity": [{}]}}),
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"affinity": {"nodeAffinity": [{}]}}}),
    ];
    for object in wrong {
        let create = json!({"uid": "one", "operation": "CREATE", "object": object});
        expect_malformed(&body(create), "one", "request.object cannot be read");
    }
}

fn response(verdict: Verdict) -> Value {
    let review = serde_json::to_value(answer("one".to_owned(), verdict)).unwrap();
    assert_eq!(
        (&review["apiVersion"], &review["kind"]),
        (&json!("admission.k8s.io/v1"), &json!("AdmissionReview"))
    );
    assert_eq!(review["response"]["uid"], "one");
    review["response"].clone()
}

#[test]
fn a_refusal_has_code_reason_and_message() {
    let malformed = read::<Pod>(b"").unwrap_err();
    let response = response(Err(malformed.denial));
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!(
        (&status["code"], &status["reason"], &status["status"]),
        (&json!(400), &json!("BadRequest"), &json!("Failure"))
    );
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("send an AdmissionReview")
    );
    assert_eq!(response["patch"], Value::Null);
}

#[test]
fn an_allowed_review_has_warnings_and_no_empty_patch() {
    let response = response(Ok(Allowed::silently().warning(["careful".to_owned()])));
    assert_eq!(
        (&response["allowed"], &response["warnings"]),
        (&json!(true), &json!(["careful"]))
    );
    assert_eq!(
        (&response["patch"], &response["patchType"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn the_audit_log_names_the_pod_and_its_address() {
    let granted = Allowed::silently().granting("IP partner-a to pod shop/web".to_owned());
    let answered = response(Ok(granted));
    assert_eq!(
        answered["auditAnnotations"],
        json!({"granted": "IP partner-a to pod shop/web"})
    );
    let silent = response(Ok(Allowed::silently()));
    assert!(silent["auditAnnotations"].is_null() || silent["auditAnnotations"] == json!({}));
}

#[tokio::test]
async fn only_new_pods_are_reviewed() {
    let (router, _) = webhook(Scripted::new(office(), None));
    let pod = asking(json!({}));
    for (path, operation) in [
        ("/mutate/pod", "UPDATE"),
        ("/mutate/pod", "DELETE"),
        ("/validate/pod", "UPDATE"),
        ("/validate/pod", "DELETE"),
    ] {
        let request = body(
            json!({"uid": "one", "operation": operation, "namespace": "shop",
            "object": pod, "oldObject": pod}),
        );
        let (_, answer) = post(&router, path, request).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let message = answer["response"]["status"]["message"].as_str();
        let message = message.unwrap_or_default();
        assert!(message.contains("only the operation CREATE"), "{answer}");
    }
}
