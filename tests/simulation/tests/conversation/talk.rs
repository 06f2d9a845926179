//! A conversation with one server: sends requests, and records the answers.

use std::time::Duration;

use futures::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::servers::Server;
use crate::transcript::{Line, written};

/// Time limit for an answer. The real API server needs less, even on a busy machine.
const LIMIT: Duration = Duration::from_mins(1);

/// A conversation with one server.
pub struct Talk {
    client: Client,
    server: Server,
    lines: Vec<Line>,
}

impl Talk {
    pub fn new(client: Client, server: Server) -> Self {
        let lines = Vec::new();
        Self {
            client,
            server,
            lines,
        }
    }

    /// The transcript for the comparison.
    pub fn transcript(&self) -> Vec<String> {
        written(&self.lines)
    }

    pub async fn get(&mut self, path: &str) -> Value {
        self.send("GET", path, "", &Value::Null).await
    }

    pub async fn post(&mut self, path: &str, body: Value) -> Value {
        self.send("POST", path, "application/json", &body).await
    }

    pub async fn put(&mut self, path: &str, body: Value) -> Value {
        self.send("PUT", path, "application/json", &body).await
    }

    pub async fn merge(&mut self, path: &str, body: Value) -> Value {
        self.patch(path, "merge-patch", body).await
    }

    pub async fn strategic(&mut self, path: &str, body: Value) -> Value {
        self.patch(path, "strategic-merge-patch", body).await
    }

    pub async fn patch(&mut self, path: &str, how: &str, body: Value) -> Value {
        let content_type = format!("application/{how}+json");
        self.send("PATCH", path, &content_type, &body).await
    }

    pub async fn delete(&mut self, path: &str, options: Value) -> Value {
        self.send("DELETE", path, "application/json", &options)
            .await
    }

    /// GET of the metadata alone.
    pub async fn metadata(&mut self, path: &str) -> Value {
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let request = request("GET", path, "", &Value::Null, accept);
        self.record("GET metadata", path, request).await
    }

    /// Creates a namespace. This is not part of the conversation.
    pub async fn namespace(&mut self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.post("/api/v1/namespaces", body).await;
        self.forget(1);
    }

    /// Watches until this number of events has arrived.
    pub async fn watch(&mut self, path: &str, events: usize) -> Vec<Value> {
        self.watching(path, "", Some(events)).await
    }

    /// Watches until the server ends it.
    pub async fn watch_to_the_end(&mut self, path: &str) -> Vec<Value> {
        self.watching(path, "", None).await
    }

    /// Watches only the metadata until this number of events has arrived.
    pub async fn watch_metadata(&mut self, path: &str, events: usize) -> Vec<Value> {
        let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        self.watching(path, accept, Some(events)).await
    }

    /// Removes the last lines from the conversation.
    pub fn forget(&mut self, lines: usize) {
        self.lines.truncate(self.lines.len() - lines);
    }

    /// Compacts the history before the version of this list.
    pub async fn compact(&mut self, list: &str) {
        let now = self.get(list).await;
        self.forget(1);
        let version = now["metadata"]["resourceVersion"].as_str().unwrap();
        self.server.compact(version).await;
    }

    async fn watching(&mut self, path: &str, accept: &str, count: Option<usize>) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let full = format!("{path}{separator}watch=true");
        let request = request("GET", &full, "", &Value::Null, accept);
        let sent = tokio::time::timeout(LIMIT, self.client.send(request)).await;
        let response = sent.expect("a watch begins").unwrap();
        let code = response.status().as_u16();
        let mut stream = response.into_body().into_data_stream();
        let (mut text, mut events): (Vec<u8>, Vec<Value>) = (Vec::new(), Vec::new());
        while count.is_none_or(|count| events.len() < count) {
            let Ok(chunk) = tokio::time::timeout(LIMIT, stream.next()).await else {
                panic!("no more events of {path} after {events:#?}");
            };
            let Some(chunk) = chunk else { break };
            text.extend_from_slice(&chunk.unwrap());
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                events.push(serde_json::from_slice(&line).unwrap());
            }
        }
        // More events may have arrived at the same time.
        events.truncate(count.unwrap_or(usize::MAX));
        for event in &events {
            let watch = format!("WATCH {path}");
            self.lines.push(Line::new(&watch, code, event.clone()));
        }
        events
    }

    async fn send(&mut self, method: &str, path: &str, content_type: &str, body: &Value) -> Value {
        let request = request(method, path, content_type, body, "application/json");
        self.record(method, path, request).await
    }

    async fn record(&mut self, method: &str, path: &str, request: Request<Body>) -> Value {
        let answer = async {
            let response = self.client.send(request).await.unwrap();
            let code = response.status().as_u16();
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
            (code, body)
        };
        let answer = tokio::time::timeout(LIMIT, answer).await;
        let (code, body): (u16, Value) =
            answer.unwrap_or_else(|_| panic!("{method} {path} is not answered"));
        self.lines
            .push(Line::new(&format!("{method} {path}"), code, body.clone()));
        body
    }
}

fn request(
    method: &str,
    path: &str,
    content_type: &str,
    body: &Value,
    accept: &str,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in [("content-type", content_type), ("accept", accept)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    request.body(Body::from(body)).unwrap()
}

/// `metadata.resourceVersion`.
pub fn version(object: &Value) -> String {
    text(object, "resourceVersion")
}

/// `metadata.uid`.
pub fn uid(object: &Value) -> String {
    text(object, "uid")
}

fn text(object: &Value, field: &str) -> String {
    let found = object["metadata"][field].as_str();
    found
        .unwrap_or_else(|| panic!("no {field} in {object}"))
        .to_owned()
}
