//! Asking the API server for something that it may refuse, and what it said: verdict, message, warnings.

use std::fmt;

use hyper::http::request::Builder;
use kube::api::ListParams;
use kube::client::Body;
use serde_json::{Value, json};

use crate::objects::{IP, merged};
use crate::scene::{SOON, Scene};

/// What the API server said.
pub struct Said {
    /// What was asked, in words.
    asked: String,
    code: u16,
    /// Texts of the `Warning` headers.
    warnings: Vec<String>,
    /// The object, or the `Status` of a refusal.
    body: Value,
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, warnings) = (self.code, &self.warnings);
        writeln!(f, "{}: {code}, warnings {warnings:?}", self.asked)?;
        match self.body["message"].as_str() {
            Some(message) => f.write_str(message),
            None => write!(f, "{}", self.body),
        }
    }
}

impl Said {
    /// It was granted; the object as it then is.
    #[track_caller]
    pub fn accepted(self) -> Value {
        assert!(
            self.code < 300,
            "refused, and should not have been: {self:?}"
        );
        self.body
    }

    /// It was granted without a word.
    #[track_caller]
    pub fn accepted_silently(self) -> Value {
        assert!(self.warnings.is_empty(), "a warning too many: {self:?}");
        self.accepted()
    }

    /// It was granted with a warning that contains each of these; the object as it then is.
    #[track_caller]
    pub fn warns(self, parts: &[&str]) -> Value {
        let told = self
            .warnings
            .iter()
            .any(|warning| parts.iter().all(|part| warning.contains(part)));
        assert!(told, "no warning with {parts:?}: {self:?}");
        self.accepted()
    }

    /// It was refused with a message that contains each of these; the message.
    #[track_caller]
    pub fn rejected(self, parts: &[&str]) -> String {
        assert!(
            self.code >= 400,
            "granted, and should have been refused with {parts:?}: {self:?}"
        );
        let message = self.body["message"].as_str().unwrap_or_default().to_owned();
        for part in parts {
            assert!(
                message.contains(part),
                "the refusal does not say {part:?}: {self:?}"
            );
        }
        message
    }

    /// Whether it was granted.
    pub fn is_accepted(&self) -> bool {
        self.code < 300
    }

    /// RBAC or a policy does not allow it.
    pub fn is_forbidden(&self) -> bool {
        self.code == 403 || self.message().contains("denied request")
    }

    /// The message of a refusal.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// Whether a request is carried out, or only answered as if it were (webhooks are asked all the same).
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
    pub async fn creates(&self, object: &Value) -> Said {
        self.create(object, Mode::Real, None).await
    }

    /// What the API server would say to an object's creation.
    pub async fn would_create(&self, object: &Value) -> Said {
        self.create(object, Mode::Dry, None).await
    }

    /// What the API server would say to an object's creation by this user.
    pub async fn would_create_as(&self, user: &str, object: &Value) -> Said {
        self.create(object, Mode::Dry, Some(user)).await
    }

    async fn create(&self, object: &Value, mode: Mode, user: Option<&str>) -> Said {
        let kind = object["kind"].as_str().expect("an object has a kind");
        let url = format!("{}{}", self.api(kind).resource_url(), mode.query());
        let asked = format!("create {kind} {}", object["metadata"]["name"]);
        let request = request("POST", &url, "application/json");
        // Whoever is impersonated is the requester that webhooks are told.
        let request = match user {
            Some(user) => request.header("impersonate-user", user),
            None => request,
        };
        self.ask(asked, request, object).await
    }

    /// Changes an object by a JSON merge patch; `what` is its name, or `name/status`.
    pub async fn changes(&self, kind: &str, what: &str, change: &Value) -> Said {
        self.change(kind, what, change, Mode::Real).await
    }

    /// What the API server would say to a change.
    pub async fn would_change(&self, kind: &str, what: &str, change: &Value) -> Said {
        self.change(kind, what, change, Mode::Dry).await
    }

    async fn change(&self, kind: &str, what: &str, change: &Value, mode: Mode) -> Said {
        let url = format!("{}/{what}{}", self.api(kind).resource_url(), mode.query());
        let asked = format!("patch {kind} {what} {change}");
        let request = request("PATCH", &url, "application/merge-patch+json");
        self.ask(asked, request, change).await
    }

    /// Deletes an object.
    pub async fn deletes(&self, kind: &str, name: &str) -> Said {
        self.remove(kind, name, Mode::Real).await
    }

    /// What the API server would say to a deletion.
    pub async fn would_delete(&self, kind: &str, name: &str) -> Said {
        self.remove(kind, name, Mode::Dry).await
    }

    async fn remove(&self, kind: &str, name: &str, mode: Mode) -> Said {
        let url = format!("{}/{name}{}", self.api(kind).resource_url(), mode.query());
        let asked = format!("delete {kind} {name}");
        let request = request("DELETE", &url, "application/json");
        self.ask(asked, request, &json!({})).await
    }

    async fn ask(&self, asked: String, request: Builder, body: &Value) -> Said {
        ask(&self.client, asked, request, body).await
    }

    /// A pod as it is written, which asks for what the annotation says, with changes (merged).
    pub fn pod_asking(&self, name: &str, annotation: &str, changes: &Value) -> Value {
        let base = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.name, "annotations": {IP: annotation}},
            "spec": {
                // The token's volume has a random name, which would be all that differs between two pods.
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "registry.example/main:1"}],
            },
        });
        merged(base, changes)
    }

    /// The API server guards our marks on pods no longer (`config/policies/pod_marks.yaml`), until
    /// [`Scene::guard_marks`].
    pub async fn unguard_marks(&self) {
        let policy = "delete validatingadmissionpolicybinding mooring-pod-marks";
        self.kubectl(policy).await.success();
        self.eventually("the policy is gone", SOON, async || {
            let said = self.would_create(&self.marked()).await;
            said.is_accepted().then_some(()).ok_or(format!("{said:?}"))
        })
        .await;
    }

    /// It does again: the next scene may be played in this cluster.
    pub async fn guard_marks(&self) {
        let file = mooring_cluster::repository().join("config/policies/pod_marks.yaml");
        let policy = std::fs::read_to_string(file).expect("it is there");
        self.cluster().apply(&policy).await;
        self.eventually("the policy is back", SOON, async || {
            let said = self.would_create(&self.marked()).await;
            said.is_forbidden().then_some(()).ok_or(format!("{said:?}"))
        })
        .await;
    }

    /// A pod with our label that asks for nothing.
    fn marked(&self) -> Value {
        let marked = json!({"metadata": {"annotations": null, "labels": {IP: "nobody"}}});
        self.pod_asking("marked", "", &marked)
    }

    /// Remembers an IP that the scene made in its own way, so that it is deleted at the end.
    pub fn remember_ip(&self, name: &str) {
        self.ips.lock().unwrap().push(name.to_owned());
    }

    /// Remembers a block that the scene made in its own way, so that it is deleted at the end.
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

    /// How many objects a list of a kind has, by a label selector.
    pub async fn count(&self, kind: &str, labels: &str) -> usize {
        let selected = ListParams::default().labels(labels);
        let list = self.api(kind).list(&selected).await;
        list.unwrap_or_else(|error| panic!("listing {kind} {labels}: {error}"))
            .items
            .len()
    }
}

async fn ask(client: &kube::Client, asked: String, request: Builder, body: &Value) -> Said {
    let request = request
        .body(Body::from(body.to_string().into_bytes()))
        .expect("a path is a request");
    let answer = client.send(request).await;
    let answer = answer.unwrap_or_else(|error| panic!("{asked}: {error}"));
    let code = answer.status().as_u16();
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.filter_map(|value| text_of_warning(value.to_str().ok()?));
    let warnings = warnings.collect();
    let body = answer.into_body().collect_bytes().await;
    let body = body.unwrap_or_else(|error| panic!("{asked}: {error}"));
    Said {
        asked,
        code,
        warnings,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}

/// Asks with credentials other than the scene's. A PATCH is a JSON patch if its body is a list, else a merge.
pub async fn ask_as(client: &kube::Client, method: &str, url: &str, body: &Value) -> Said {
    let content_type = match (method, body.is_array()) {
        ("PATCH", true) => "application/json-patch+json",
        ("PATCH", false) => "application/merge-patch+json",
        _ => "application/json",
    };
    let asked = format!("{method} {url} {body}");
    ask(client, asked, request(method, url, content_type), body).await
}

fn request(method: &str, url: &str, content_type: &str) -> Builder {
    hyper::Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", content_type)
}

/// An IP as it is written, by its full name; for every namespace, unless its spec says otherwise.
pub fn ip_named(name: &str, spec: &Value) -> Value {
    let spec = open(spec);
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name}, "spec": spec})
}

/// A block as it is written, by its full name; for every namespace, unless its spec says otherwise.
pub fn block_named(name: &str, spec: &Value) -> Value {
    let spec = open(spec);
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name}, "spec": spec})
}

/// The spec, with every namespace allowed where it says nothing of namespaces.
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
