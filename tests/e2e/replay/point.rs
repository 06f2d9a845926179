//! The writes of a story in a clean run. Each is a point for a fault.

use std::collections::BTreeMap;
use std::fmt;

use mooring_cluster::{Mutation, ProxiedWrite};
use serde_json::Value;

use super::site::{Lot, Names};

/// A write, described without names and addresses that differ between replays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// To Kubernetes.
    Object {
        verb: String,
        /// `ips/status`...
        resource: String,
        /// The role of the object in the replay.
        role: String,
        /// Its content.
        what: String,
    },
    /// To EC2.
    Call {
        action: String,
        /// The role of the address in the replay.
        role: String,
    },
}

/// One write of a story.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub write: Write,
    /// The number of equal writes before it.
    pub before: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.write {
            Write::Object {
                verb,
                resource,
                role,
                what,
            } => write!(f, "{verb} {resource} {role} {what}")?,
            Write::Call { action, role } => write!(f, "EC2 {action} {role}")?,
        }
        if self.before > 0 {
            write!(f, " #{}", self.before + 1)?;
        }
        Ok(())
    }
}

impl Write {
    /// Describes a write of the replay. `None` if it is not a write of this replay.
    pub fn of(write: &ProxiedWrite, names: &Names) -> Option<Self> {
        if !names.own(write) {
            return None;
        }
        let resource = match write.subresource.as_str() {
            "" => write.resource.clone(),
            subresource => format!("{}/{subresource}", write.resource),
        };
        Some(Self::Object {
            verb: write.method.to_lowercase(),
            what: what(&resource, &write.body),
            role: names.role(write),
            resource,
        })
    }

    /// Is it a write of the status of a block? This status is a summary that is updated once per second, so the number
    /// of its writes is random.
    fn is_summary(&self) -> bool {
        matches!(self, Self::Object { resource, .. } if resource == "ipblocks/status")
    }
}

fn what(resource: &str, body: &Value) -> String {
    let (status, meta) = (&body["status"], &body["metadata"]);
    match resource {
        "ips/status" => {
            let is = |field: &str| status[field] == true;
            let placed = status["networkInterfaceID"].is_string();
            match (is("claimed"), is("assigned"), placed) {
                (true, true, _) => "record",
                (true, false, true) => "claim",
                (true, false, false) => "detach",
                (false, ..) => "no holder",
            }
            .to_owned()
        }
        "pods/status" => {
            let gate = &status["conditions"][0];
            let text = |field: &str| gate[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("status"), text("reason"))
        }
        "ipblocks/status" => String::new(),
        _ => {
            let mut parts = Vec::new();
            if let Some(finalizers) = meta["finalizers"].as_array() {
                parts.push(format!("{} finalizers", finalizers.len()));
            }
            for field in ["labels", "annotations"] {
                let taken = |values: &serde_json::Map<String, Value>| {
                    values.values().filter(|value| value.is_null()).count()
                };
                if let Some(values) = meta[field].as_object() {
                    let gone = taken(values);
                    parts.push(format!("{field} +{} -{gone}", values.len() - gone));
                }
            }
            parts.join(", ")
        }
    }
}

/// The writes of the story in order: those that the proxy has recorded since `mark`, and those in the history of EC2.
pub fn of_run(lot: &Lot<'_>, mark: usize, history: &[Mutation]) -> Vec<Point> {
    let objects = lot.site.proxy.writes_since(mark).into_iter();
    let objects = objects
        .filter(|write| write.answers.iter().any(|code| *code < 300))
        .filter_map(|write| Some((write.unix_ms, Write::of(&write, &lot.names)?)));
    let calls = history.iter().flat_map(|mutation| {
        let action = mutation.action.clone();
        let of_call = move |address: &String| {
            let role = lot.names.role_of_address(address).to_owned();
            (
                mutation.unix_ms,
                Write::Call {
                    action: action.clone(),
                    role,
                },
            )
        };
        mutation.addresses.iter().map(of_call)
    });
    let mut writes: Vec<(u64, Write)> = objects.chain(calls).collect();
    writes.sort_by_key(|(at, _)| *at);
    let mut seen: BTreeMap<Write, usize> = BTreeMap::new();
    let mut points = Vec::new();
    for (_, write) in writes {
        let count = seen.entry(write.clone()).or_default();
        if *count == 0 || !write.is_summary() {
            let before = *count;
            points.push(Point { write, before });
        }
        *count += 1;
    }
    points
}
