//! The instance of each Node over time, and since when each Node was away.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::objects::{is_end, text};
use crate::api_server::RequestInfo;

/// The history of one Node name.
#[derive(Clone, Copy)]
struct Node<'a> {
    instance: &'a str,
    /// The creation time, in the format of the API server.
    created: &'a str,
    /// Since when the Node has been gone, not ready or unreachable. None: it is not.
    away_since: Option<Duration>,
    /// The end of the last such time.
    away_until: Option<Duration>,
    /// Its taints.
    taints: &'a Value,
    /// Whether it is ready.
    ready: bool,
    /// When the heartbeat of its node part last changed, and its time. None: it has none.
    heartbeat: Option<(&'a str, Duration)>,
    /// When the last heartbeat came that was late.
    late_until: Option<Duration>,
}

/// A node part whose heartbeat has this age counts as late (R3.34).
const LATE: Duration = Duration::from_secs(15);

impl Node<'_> {
    fn is_late(&self, now: Duration) -> bool {
        self.heartbeat.is_some_and(|(_, at)| at + LATE <= now)
    }
}

/// All Nodes at one moment.
#[derive(Default)]
pub(super) struct Nodes<'a> {
    by_name: BTreeMap<&'a str, Node<'a>>,
    /// All pairs of Node and instance that ever existed.
    ever: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Nodes<'a> {
    /// Applies a write of a Node.
    pub(super) fn apply(&mut self, request: &'a RequestInfo, body: &'a Value, at: Duration) {
        if is_end(request, body) {
            if let Some(node) = self.by_name.get_mut(request.name.as_str()) {
                node.away_since.get_or_insert(at);
            }
            return;
        }
        let (name, provider) = (text(body, "/metadata/name"), text(body, "/spec/providerID"));
        let instance = provider.rsplit('/').next().unwrap_or_default();
        self.ever.insert((name, instance));
        let node = self.by_name.entry(name).or_insert(Node {
            instance,
            created: text(body, "/metadata/creationTimestamp"),
            away_since: None,
            away_until: None,
            taints: &Value::Null,
            ready: false,
            heartbeat: None,
            late_until: None,
        });
        node.instance = instance;
        node.taints = &body["spec"]["taints"];
        node.ready = !is_unready(body);
        if is_away(body) {
            node.away_since.get_or_insert(at);
        } else if node.away_since.take().is_some() {
            node.away_until = Some(at);
        }
    }

    /// The instance that the Node names, and its taints.
    pub(super) fn shown(&self, name: &str) -> (&'a str, &'a Value) {
        let node = self.by_name.get(name);
        node.map_or(("", &Value::Null), |node| (node.instance, node.taints))
    }

    /// Whether the Node ever named this instance.
    pub(super) fn was(&self, name: &str, instance: &str) -> bool {
        self.ever.contains(&(name, instance))
    }

    /// An older Node that names the same instance and is not away.
    pub(super) fn older_of_its_instance(&self, name: &str) -> Option<&'a str> {
        let node = self.by_name.get(name)?;
        let older = |other: &&Node<'_>| {
            other.instance == node.instance
                && other.away_since.is_none()
                && other.created < node.created
        };
        let mut others = self.by_name.iter();
        others
            .find(|(_, other)| older(other))
            .map(|(name, _)| *name)
    }

    /// Applies a write of the report of a node part.
    pub(super) fn report(&mut self, request: &'a RequestInfo, body: &'a Value, at: Duration) {
        let Some(node) = self.by_name.get_mut(request.name.as_str()) else {
            return;
        };
        let beat = text(body, "/status/heartbeatTime");
        if is_end(request, body) || beat.is_empty() {
            node.heartbeat = None;
        } else if node.heartbeat.is_none_or(|(before, _)| before != beat) {
            if node.is_late(at) {
                node.late_until = Some(at);
            }
            node.heartbeat = Some((beat, at));
        }
    }

    /// Whether the Node is not ready, or its node part was late since then.
    pub(super) fn is_unready_or_was_late(
        &self,
        name: &str,
        since: Duration,
        now: Duration,
    ) -> bool {
        self.by_name.get(name).is_none_or(|node| {
            let was_late = node.late_until.is_some_and(|until| until >= since);
            !node.ready || node.is_late(now) || was_late
        })
    }

    /// Whether the Node is ready.
    pub(super) fn is_ready(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|node| node.ready)
    }

    /// How long the Node has been away.
    pub(super) fn away_for(&self, name: &str, now: Duration) -> Option<Duration> {
        let since = self.by_name.get(name)?.away_since?;
        Some(now.saturating_sub(since))
    }

    /// Whether this Node was away at any time since then.
    pub(super) fn was_away_since(&self, name: &str, instance: &str, since: Duration) -> bool {
        self.by_name.get(name).is_none_or(|node| {
            node.instance != instance
                || node.away_since.is_some()
                || node.away_until.is_some_and(|until| until >= since)
        })
    }
}

fn any(node: &Value, pointer: &str, is: fn(&Value) -> bool) -> bool {
    let list = node.pointer(pointer).and_then(Value::as_array);
    list.is_some_and(|list| list.iter().any(is))
}

/// Whether the condition `Ready` is not `True`.
fn is_unready(node: &Value) -> bool {
    any(node, "/status/conditions", |one| {
        one["type"] == "Ready" && one["status"] != "True"
    })
}

/// Whether the Node is not ready, unreachable or out of service.
fn is_away(node: &Value) -> bool {
    is_unready(node)
        || any(node, "/spec/taints", |one| {
            one["key"] == "node.kubernetes.io/unreachable"
                || one["key"] == "node.kubernetes.io/out-of-service"
        })
}
