//! Tests of `--authorize-use`: which subject is checked, when, and what the answers lead to.
//! Rules: R8.19 to R8.22.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::Pod;
use mooring_plan::admission::usage::{ServiceAccount, Subject, TrustedControllers, Use};
use mooring_plan::names::IpName;
use serde_json::{Value, json};

use super::http::post;
use super::pod_create::patched;
use super::{asking, block, office, partner_a, pod, snapshot_of};
use crate::admission::review::read;
use crate::admission::{
    ClusterReader, Dependencies, PluginSettings, Right, Rights, Snapshot, Unreadable, Webhook,
    router,
};
use crate::metrics::Metrics;

const ARGO: &str = "system:serviceaccount:argo:workflow-controller";

/// What the authorizer does.
#[derive(Clone, Copy)]
enum Authorizer {
    UnreadableReport(Right),
    Fails,
    Hangs,
}

/// Objects, an authorizer, and the questions that the authorizer received.
#[derive(Clone)]
struct Asked {
    objects: Snapshot,
    authorizer: Authorizer,
    questions: Arc<Mutex<Vec<(Subject, Use)>>>,
}

impl ClusterReader for Asked {
    async fn cached(&self, _: &Dependencies) -> Snapshot {
        self.objects.clone()
    }

    async fn fresh(&self, _: &Dependencies) -> Result<Snapshot, Unreadable> {
        Ok(self.objects.clone())
    }
}

impl Rights for Asked {
    async fn right(&self, subject: &Subject, wanted: &Use) -> Result<Right, Unreadable> {
        let question = (subject.clone(), wanted.clone());
        self.questions.lock().unwrap().push(question);
        match self.authorizer {
            Authorizer::UnreadableReport(right) => Ok(right),
            Authorizer::Fails => Err(Unreadable {
                what: "the right to use the IP",
                source: "the API server is away".into(),
            }),
            Authorizer::Hangs => std::future::pending().await,
        }
    }
}

/// The authorizer of a cluster with these objects.
fn cluster(objects: Snapshot, authorizer: Authorizer) -> Asked {
    Asked {
        objects,
        authorizer,
        questions: Arc::default(),
    }
}

fn granting() -> Asked {
    cluster(office(), Authorizer::UnreadableReport(Right::Granted))
}

impl Asked {
    /// The answer to this request of the user alice, with these trusted controllers.
    async fn answer(&self, path: &str, request: Value) -> Value {
        let router = router(Webhook {
            source: self.clone(),
            settings: PluginSettings::default(),
            authorize_use: Some(Arc::new(TrustedControllers::from_iter([ARGO.to_owned()]))),
            metrics: Metrics::new(),
        });
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let (_, body) = post(&router, path, review.to_string()).await;
        let review: Value = serde_json::from_slice(&body).unwrap();
        review["response"].clone()
    }

    async fn created_by(&self, user: &Value, pod: &Pod) -> Value {
        let request = json!({"uid": "one", "operation": "CREATE", "namespace": "shop",
            "userInfo": user, "object": pod});
        self.answer("/validate/pod", request).await
    }

    async fn created(&self, pod: &Pod) -> Value {
        self.created_by(&alice(), pod).await
    }

    fn questions(&self) -> Vec<(Subject, Use)> {
        self.questions.lock().unwrap().clone()
    }
}

fn alice() -> Value {
    json!({"username": "alice", "uid": "uid-1", "groups": ["team"], "extra": {"scopes": ["all"]}})
}

/// A pod in the validating review: with everything that the mutating review adds.
fn whole() -> Pod {
    patched(&asking(json!({"serviceAccountName": "gateway"})), &office())
}

fn refused_with(response: &Value, code: u16, parts: &[&str]) {
    let status = &response["status"];
    assert_eq!(
        (&response["allowed"], &status["code"]),
        (&json!(false), &json!(code)),
        "{response}"
    );
    let message = status["message"].as_str().unwrap();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[tokio::test]
async fn a_user_with_the_right_passes_after_one_access_review() {
    let cluster = granting();
    assert_eq!(cluster.created(&whole()).await["allowed"], true);
    let subject = Subject {
        user: "alice".to_owned(),
        uid: "uid-1".to_owned(),
        groups: vec!["team".to_owned()],
        extra: [("scopes".to_owned(), vec!["all".to_owned()])].into(),
    };
    let wanted = Use {
        pod: "shop/web".to_owned(),
        ip: IpName::from("partner-a"),
        account: ServiceAccount::of_pod("shop", Some("gateway")),
    };
    assert_eq!(cluster.questions(), [(subject, wanted)]);
}

#[tokio::test]
async fn a_user_without_the_right_is_refused_with_what_is_missing() {
    let cluster = cluster(office(), Authorizer::UnreadableReport(Right::Missing));
    let parts = ["pod shop/web", "IP \"partner-a\"", "user \"alice\"", "Role"];
    refused_with(&cluster.created(&whole()).await, 403, &parts);
}

#[tokio::test]
async fn pods_of_a_controller_need_the_right_of_their_service_account() {
    let cluster = granting();
    let controller = json!({"username": "system:serviceaccount:kube-system:job-controller",
        "groups": ["system:serviceaccounts:kube-system"]});
    for user in [controller, json!({"username": ARGO})] {
        cluster.created_by(&user, &whole()).await;
    }
    let users: Vec<_> = cluster
        .questions()
        .into_iter()
        .map(|(who, _)| who.user)
        .collect();
    let gateway = "system:serviceaccount:shop:gateway";
    assert_eq!(users, [gateway, gateway]);
}

#[tokio::test]
async fn an_owner_reference_does_not_change_the_subject() {
    let mut forged = whole();
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gateway-1", "uid": "u", "controller": true}]);
    forged.metadata.owner_references = Some(super::read(owner));
    let cluster = granting();
    cluster.created(&forged).await;
    let [(subject, _)] = cluster.questions().try_into().unwrap();
    assert_eq!(subject.user, "alice");
}

#[tokio::test]
async fn the_access_review_names_the_ip_not_the_annotation() {
    let by_address = pod(json!({"ip.wgtwo.com/ip": "203.0.113.7"}), json!({}));
    let cluster = granting();
    cluster.created(&patched(&by_address, &office())).await;
    let [(_, wanted)] = cluster.questions().try_into().unwrap();
    assert_eq!(wanted.ip, IpName::from("partner-a"));
}

#[tokio::test]
async fn a_failed_access_review_refuses_for_now() {
    let parts = ["the right to use the IP", "is away", "try again"];
    let away = cluster(office(), Authorizer::Fails);
    refused_with(&away.created(&whole()).await, 503, &parts);
    let hanging = cluster(office(), Authorizer::Hangs);
    let parts = ["no answer within", "try again"];
    refused_with(&hanging.created(&whole()).await, 503, &parts);
}

#[tokio::test]
async fn a_refused_pod_causes_no_access_review() {
    let mut theirs = partner_a();
    theirs.spec.allowed_namespaces = Some(vec!["elsewhere".to_owned()]);
    let objects = snapshot_of([theirs], [block("office", "203.0.113.0/24")]);
    let cluster = cluster(objects, Authorizer::UnreadableReport(Right::Missing));
    let parts = ["does not exist, or namespace \"shop\" may not use it"];
    refused_with(&cluster.created(&whole()).await, 403, &parts);
    assert_eq!(cluster.questions(), []);
}

#[tokio::test]
async fn a_request_that_uses_no_new_ip_causes_no_access_review() {
    let cluster = granting();
    let plain = pod(json!({}), json!({}));
    assert_eq!(cluster.created(&plain).await["allowed"], true);
    // The validating review comes later and makes the check.
    let request = json!({"uid": "one", "operation": "CREATE", "namespace": "shop", "userInfo": alice(),
        "object": whole()});
    let response = cluster.answer("/mutate/pod", request).await;
    assert_eq!(response["allowed"], true);
    assert_eq!(cluster.questions(), []);
}

#[test]
fn an_unreadable_requester_is_refused() {
    let request = json!({"uid": "one", "operation": "CREATE", "userInfo": {"groups": "team"}, "object": whole()});
    let malformed = read::<Pod>(json!({"request": request}).to_string().as_bytes()).unwrap_err();
    let message = malformed.denial.to_string();
    assert!(
        message.contains("request.userInfo cannot be read"),
        "{message}"
    );
}
