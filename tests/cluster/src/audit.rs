//! The audit log of the API server, which is the history for the judge.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::Cluster;

/// One request that the API server has answered (stage `ResponseComplete`).
///
/// Bodies are recorded for writes of IPs, blocks, IPAddresses, pods and nodes, and for access reviews. For reads,
/// Leases and Events only the metadata of the request is recorded (`tests/control-plane/audit-policy.yaml`).
#[derive(Clone, Debug)]
pub struct AuditEvent {
    /// `create`, `update`, `patch`, `delete`, `get`, `list`, `watch`...
    pub verb: String,
    /// The user: `system:serviceaccount:mooring-system:mooring` for Mooring, `kwok` for the kubelets.
    pub user: String,
    /// The User-Agent of the client.
    pub agent: String,
    /// API group, empty for core.
    pub group: String,
    /// Plural: `pods`, `ips`...
    pub resource: String,
    /// `status`, `binding`..., or empty.
    pub subresource: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Empty for lists.
    pub name: String,
    /// The path and query of the request.
    pub uri: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// Why the request was refused: the reasons of `details.causes` in the answer.
    pub causes: Vec<String>,
    /// When the request arrived.
    pub received: Timestamp,
    /// When it was answered.
    pub answered: Timestamp,
    /// The audit annotations of admission.
    pub annotations: BTreeMap<String, String>,
    /// The body of the request; null if bodies are not recorded.
    pub request: Value,
    /// The body of the answer; null if bodies are not recorded.
    pub response: Value,
}

impl AuditEvent {
    /// Whether the request changed something: a create, update, patch or delete that was answered with success.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        ) && self.code < 300
    }

    /// Whether the user is a ServiceAccount of Mooring.
    pub fn by_mooring(&self) -> bool {
        self.user
            .starts_with("system:serviceaccount:mooring-system:mooring")
    }

    /// The resourceVersion of the answered object.
    pub fn resource_version(&self) -> Option<&str> {
        self.response
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
    }

    /// The status of a condition in the answered object.
    pub fn condition(&self, kind: &str) -> Option<&str> {
        let conditions = self.response.pointer("/status/conditions")?.as_array()?;
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)?["status"]
            .as_str()
    }
}

/// The longest record: an object has at most 1.5 MiB, and a record contains it twice.
const LONGEST_LINE: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    stage: String,
    verb: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(rename = "requestURI", default)]
    uri: String,
    #[serde(default)]
    object_ref: Reference,
    #[serde(default)]
    response_status: Status,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    request_object: Value,
    #[serde(default)]
    response_object: Value,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reference {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    api_group: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
}

impl Cluster {
    /// All records so far, in the order of the answers.
    pub fn audit(&self) -> Vec<AuditEvent> {
        self.audit_since(0).0
    }

    /// The records from a byte offset on, and the offset for the next call. Begin a scene with
    /// `let (_, mark) = cluster.audit_since(u64::MAX)`.
    pub fn audit_since(&self, offset: u64) -> (Vec<AuditEvent>, u64) {
        self.audit_naming("", offset)
    }

    /// As [`Cluster::audit_since`], but only records whose line contains a text, such as the name of a scene. So a
    /// scene need not parse the records of all clients.
    pub fn audit_naming(&self, text: &str, offset: u64) -> (Vec<AuditEvent>, u64) {
        let Ok(mut file) = File::open(self.folder().join("audit.log")) else {
            return (Vec::new(), 0);
        };
        let size = file.metadata().expect("a file has a size").len();
        // Only search for the end of the last line: the log of a large cluster has gigabytes.
        let begin = if offset > size {
            size.saturating_sub(LONGEST_LINE)
        } else {
            offset
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(begin))
            .and_then(|_| file.read_to_end(&mut bytes))
            .expect("the audit log can be read");
        // The API server may be writing a line at this moment.
        let whole = bytes
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        if offset > size {
            return (Vec::new(), begin + whole as u64);
        }
        let events = bytes[..whole]
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .filter(|line| String::from_utf8_lossy(line).contains(text))
            .filter_map(|line| {
                let record: Record = serde_json::from_slice(line).unwrap_or_else(|error| {
                    panic!("audit log: {error}: {}", String::from_utf8_lossy(line))
                });
                (record.stage == "ResponseComplete").then(|| event(record))
            })
            .collect();
        (events, begin + whole as u64)
    }
}

fn event(record: Record) -> AuditEvent {
    let causes = record.response_status.details.causes.into_iter();
    AuditEvent {
        verb: record.verb,
        user: record.user.username,
        agent: record.user_agent,
        group: record.object_ref.api_group,
        resource: record.object_ref.resource,
        subresource: record.object_ref.subresource,
        namespace: record.object_ref.namespace,
        name: record.object_ref.name,
        uri: record.uri,
        code: record.response_status.code,
        causes: causes.map(|cause| cause.reason).collect(),
        received: record.request_received_timestamp,
        answered: record.stage_timestamp,
        annotations: record.annotations,
        request: record.request_object,
        response: record.response_object,
    }
}
