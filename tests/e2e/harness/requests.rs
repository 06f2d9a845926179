//! Requests that the API server can refuse, and its response: code, message, warnings.

use std::fmt;

use hyper::http::request::Builder;
use kube::api::ListParams;
use kube::client::Body;
use serde_json::{Value, json};

use crate::harness::objects::{IP, merged};
use crate::harness::scene::{SOON, Scene};

/// A response of the API server.
pub struct ApiResponse {
    /// The request, for messages.
    request: String,
    code: u16,
    /// The texts of the `Warning` headers.
    warnings: Vec<String>,
    /// The object, or the `Status` of a refusal.
    body: Value,
}

impl fmt::Debug for ApiResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, warnings) = (self.code, &self.warnings);
        writeln!(f, "{}: {code}, warnings {warnings:?}", self.request)?;
        match self.body["message"].as_str() {
            Some(message) => f.write_str(message),
            None => write!(f, "{}", self.body),
        }
    }
}

impl ApiResponse {
    /// The request was accepted. Returns the object.
    #[track_caller]
    pub fn accepted(self) -> Value {
        assert!(self.code < 300, "unexpected refusal: {self:?}");
        self.body
    }

    /// The request was accepted without a warning.
    #[track_caller]
    pub fn accepted_silently(self) -> Value {
        assert!(self.warnings.is_empty(), "unexpected warning: {self:?}");
        self.accepted()
    }

    /// The request was accepted with a warning that contains all of these parts. Returns the object.
    #[track_caller]
    pub fn warns(self, parts: &[&str]) -> Value {
        let found = self
            .warnings
            .iter()
            .any(|warning| parts.iter().all(|part| warning.contains(part)));
        assert!(found, "no warning with {parts:?}: {self:?}");
        self.accepted()
    }

    /// The request was refused with a message that contains all of these parts. Returns the message.
    #[track_caller]
    pub fn rejected(self, parts: &[&str]) -> String {
        assert!(
            self.code >= 400,
            "accepted, expected a refusal with {parts:?}: {self:?}"
        );
        let message = self.body["message"].as_str().unwrap_or_default().to_owned();
        for part in parts {
            assert!(
                message.contains(part),
                "the refusal does not contain {part:?}: {self:?}"
            );
        }
        message
    }

    /// Was the request accepted?
    pub fn is_accepted(&self) -> bool {
        self.code < 300
    }

    /// Was the request refused by RBAC or by a policy?
    pub fn is_forbidden(&self) -> bool {
        self.code == 403 || self.message().contains("denied request")
    }

    /// The message of a refusal.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// Is the request a dry run? Webhooks are called in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Real,
    Dry,
}

impl Mode {
    const fn query(self) -> &'static str {
        match self {
            Self::Real => "",
            Self::Dry => "?dryRun=All",
        }
    }
}

impl Scene {
    /// Creates an object.
    pub async fn creates(&self, object: &Value) -> ApiResponse {
        self.create(object, Mode::Real, None).await
    }

    /// The response to a dry run of a creation.
    pub async fn would_create(&self, object: &Value) -> ApiResponse {
        self.create(object, Mode::Dry, None).await
    }

    /// Waits until a creation is refused with these words: the webhook sees a change of another object some time later.
    pub async fn expect_refused(&self, object: &Value, words: &str) {
        self.eventually("the webhook has seen the change", SOON, async || {
            let answer = self.would_create(object).await;
            let refused = answer.message().contains(words);
            refused.then_some(()).ok_or_else(|| format!("{answer:?}"))
        })
        .await;
    }

    /// The response to a dry run of a creation by this user.
    pub async fn would_create_as(&self, user: &str, object: &Value) -> ApiResponse {
        self.create(object, Mode::Dry, Some(user)).await
    }

    async fn create(&self, object: &Value, mode: Mode, user: Option<&str>) -> ApiResponse {
        let kind = object["kind"].as_str().expect("an object has a kind");
        let url = format!("{}{}", self.api(kind).resource_url(), mode.query());
        let description = format!("create {kind} {}", object["metadata"]["name"]);
        let request = request("POST", &url, "application/json");
        // For webhooks, the impersonated user is the user of the request.
        let request = match user {
            Some(user) => request.header("impersonate-user", user),
            None => request,
        };
        self.send(description, request, object).await
    }

    /// Changes an object by a JSON merge patch; `what` is its name, or `name/status`.
    pub async fn changes(&self, kind: &str, what: &str, change: &Value) -> ApiResponse {
        self.change(kind, what, change, Mode::Real).await
    }

    /// The response to a dry run of a change.
    pub async fn would_change(&self, kind: &str, what: &str, change: &Value) -> ApiResponse {
        self.change(kind, what, change, Mode::Dry).await
    }

    async fn change(&self, kind: &str, what: &str, change: &Value, mode: Mode) -> ApiResponse {
        let url = format!("{}/{what}{}", self.api(kind).resource_url(), mode.query());
        let description = format!("patch {kind} {what} {change}");
        let request = request("PATCH", &url, "application/merge-patch+json");
        self.send(description, request, change).await
    }

    /// Deletes an object.
    pub async fn deletes(&self, kind: &str, name: &str) -> ApiResponse {
        self.remove(kind, name, Mode::Real).await
    }

    /// The response to a dry run of a deletion.
    pub async fn would_delete(&self, kind: &str, name: &str) -> ApiResponse {
        self.remove(kind, name, Mode::Dry).await
    }

    async fn remove(&self, kind: &str, name: &str, mode: Mode) -> ApiResponse {
        let url = format!("{}/{name}{}", self.api(kind).resource_url(), mode.query());
        let description = format!("delete {kind} {name}");
        let request = request("DELETE", &url, "application/json");
        self.send(description, request, &json!({})).await
    }

    async fn send(&self, description: String, request: Builder, body: &Value) -> ApiResponse {
        send(&self.client, description, request, body).await
    }

    /// The manifest of a pod that asks for the IP in the annotation, with changes (merged).
    pub fn pod_asking(&self, name: &str, annotation: &str, changes: &Value) -> Value {
        let base = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.name, "annotations": {IP: annotation}},
            "spec": {
                // The volume of the token has a random name, so two equal pods would differ.
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            },
        });
        merged(base, changes)
    }

    /// Deletes the policy that protects the labels and annotations of Mooring on pods
    /// (`config/policies/pod_marks.yaml`), until [`Scene::guard_marks`].
    pub async fn unguard_marks(&self) {
        let policy = "delete validatingadmissionpolicybinding mooring-pod-marks";
        self.kubectl(policy).await.success();
        self.eventually("the policy is gone", SOON, async || {
            let got = self.would_create(&self.marked()).await;
            got.is_accepted().then_some(()).ok_or(format!("{got:?}"))
        })
        .await;
    }

    /// Restores the policy, because another scene can use this cluster.
    pub async fn guard_marks(&self) {
        let file = mooring_cluster::repository().join("config/policies/pod_marks.yaml");
        let policy = std::fs::read_to_string(file).expect("the file exists");
        self.cluster().apply(&policy).await;
        self.eventually("the policy is back", SOON, async || {
            let got = self.would_create(&self.marked()).await;
            got.is_forbidden().then_some(()).ok_or(format!("{got:?}"))
        })
        .await;
    }

    /// A pod with the label of Mooring and without the annotation.
    fn marked(&self) -> Value {
        let marked = json!({"metadata": {"annotations": null, "labels": {IP: "nobody"}}});
        self.pod_asking("marked", "", &marked)
    }

    /// Registers an IP that the scene created itself, so that it is deleted at the end.
    pub fn remember_ip(&self, name: &str) {
        self.ips.lock().unwrap().push(name.to_owned());
    }

    /// Registers a block that the scene created itself, so that it is deleted at the end.
    pub fn remember_block(&self, name: &str) {
        self.blocks.lock().unwrap().push(name.to_owned());
    }

    /// Waits until an object is gone.
    pub async fn expect_no(&self, kind: &str, name: &str) {
        self.eventually(&format!("{kind} {name} is gone"), SOON, async || {
            self.get(kind, name)
                .await
                .map_or(Ok(()), |object| Err(object.to_string()))
        })
        .await;
    }

    /// The number of objects of a kind with a label selector.
    pub async fn count(&self, kind: &str, labels: &str) -> usize {
        let selected = ListParams::default().labels(labels);
        let list = self.api(kind).list(&selected).await;
        list.unwrap_or_else(|error| panic!("listing {kind} {labels}: {error}"))
            .items
            .len()
    }
}

async fn send(
    client: &kube::Client,
    description: String,
    request: Builder,
    body: &Value,
) -> ApiResponse {
    let request = request
        .body(Body::from(body.to_string().into_bytes()))
        .expect("the request is valid");
    let answer = client.send(request).await;
    let answer = answer.unwrap_or_else(|error| panic!("{description}: {error}"));
    let code = answer.status().as_u16();
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.filter_map(|value| text_of_warning(value.to_str().ok()?));
    let warnings = warnings.collect();
    let body = answer.into_body().collect_bytes().await;
    let body = body.unwrap_or_else(|error| panic!("{description}: {error}"));
    ApiResponse {
        request: description,
        code,
        warnings,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

/// Sends a request with other credentials. A PATCH is a JSON patch if its body is a list, else a merge patch.
pub async fn send_as(client: &kube::Client, method: &str, url: &str, body: &Value) -> ApiResponse {
    let content_type = match (method, body.is_array()) {
        ("PATCH", true) => "application/json-patch+json",
        ("PATCH", false) => "application/merge-patch+json",
        _ => "application/json",
    };
    let description = format!("{method} {url} {body}");
    send(
        client,
        description,
        request(method, url, content_type),
        body,
    )
    .await
}

fn request(method: &str, url: &str, content_type: &str) -> Builder {
    hyper::Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", content_type)
}

/// The manifest of an IP with this full name; for every namespace, unless its spec says otherwise.
pub fn ip_named(name: &str, spec: &Value) -> Value {
    let spec = open(spec);
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name}, "spec": spec})
}

/// The manifest of a block with this full name; for every namespace, unless its spec says otherwise.
pub fn block_named(name: &str, spec: &Value) -> Value {
    let spec = open(spec);
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name}, "spec": spec})
}

/// The spec; if it has no field for namespaces, every namespace is allowed.
pub fn open(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.entry("allowedNamespaces").or_insert(json!(["*"]));
    }
    spec
}

/// The text of a `Warning` header: `299 - "text"`, with quotes and backslashes escaped.
fn text_of_warning(header: &str) -> Option<String> {
    let (_, quoted) = header.split_once('"')?;
    let text = quoted.strip_suffix('"')?;
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}
