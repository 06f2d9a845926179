//! The cluster state for the reviews.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use mooring::admission::{
    BoundNode, ClusterReader, Dependencies, KnownIp, Right, Rights, Snapshot, Unreadable,
};
use mooring::api::{Ip, IpBlock};
use mooring_plan::address::Address;
use mooring_plan::admission::address::Parent;
use mooring_plan::admission::usage::{Subject, Use};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The labels of the nodes of the blocks.
pub const NODE_LABELS: [&str; 3] = [
    "ip.wgtwo.com.node-restriction.kubernetes.io/office",
    "ip.wgtwo.com.node-restriction.kubernetes.io/slow",
    "role",
];

fn read<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn block(name: &str, spec: Value) -> Arc<IpBlock> {
    let cidr = spec["cidr"].clone();
    read(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name, "uid": name},
        "spec": spec, "status": {"subnetCIDRs": [cidr], "free": 0},
    }))
}

fn ip(name: &str, spec: Value, status: Value) -> Arc<Ip> {
    read(json!({
        "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name, "uid": format!("uid-{name}")},
        "spec": spec, "status": status,
    }))
}

/// Blocks and IPs of every kind: free, held, being deleted, not allowed for other namespaces, without a block.
#[must_use]
pub fn snapshot() -> Snapshot {
    static CATALOG: LazyLock<Snapshot> = LazyLock::new(made);
    CATALOG.clone()
}

fn made() -> Snapshot {
    const SUBNET: &str = "subnet-0123456789abcdef0";
    let blocks = vec![
        block(
            "office",
            json!({"cidr": "203.0.113.0/24", "subnetID": SUBNET, "allowedNamespaces": ["*"]}),
        ),
        block(
            "edge",
            json!({"cidr": "198.51.100.0/24", "subnetID": SUBNET, "nodeSelector": {"matchLabels": {"role": "edge"}},
                "allowedNamespaces": ["shop"], "failoverAfter": "2m"}),
        ),
        // The same as the default toleration of Kubernetes, so no toleration is shortened.
        block(
            "slow",
            json!({"cidr": "192.0.2.0/24", "subnetID": SUBNET, "failoverAfter": "5m", "allowedNamespaces": ["*"]}),
        ),
    ];
    let held = json!({"address": "198.51.100.7", "block": "edge", "claimed": true, "pod": "shop/web-0",
        "podUID": "p-1", "assigned": false});
    let mut going = ip(
        "going",
        json!({"address": "203.0.113.9", "allowedNamespaces": ["*"]}),
        json!({"address": "203.0.113.9", "block": "office"}),
    );
    let gone_at = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    Arc::make_mut(&mut going).metadata.deletion_timestamp = Some(gone_at);
    let ips = [
        ip(
            "partner-a",
            json!({"address": "203.0.113.7", "allowedNamespaces": ["*"]}),
            json!({"address": "203.0.113.7", "block": "office"}),
        ),
        ip(
            "partner-b",
            json!({"address": "198.51.100.7", "allowedNamespaces": ["*"]}),
            held,
        ),
        ip(
            "192.0.2.9",
            json!({"address": "192.0.2.9", "allowedNamespaces": ["shop"]}),
            Value::Null,
        ),
        ip(
            "lost",
            json!({"address": "10.0.0.1", "allowedNamespaces": ["*"]}),
            Value::Null,
        ),
        going,
    ];
    let ips = ips
        .iter()
        .map(|ip| Arc::new(KnownIp::from(&**ip)))
        .collect();
    Snapshot::new(ips, blocks)
}

/// The source of the objects for the webhook.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// True if the cache is still empty.
    pub stale: bool,
}

/// Every user except `mallory` has the right.
impl Rights for Cluster {
    async fn right(&self, subject: &Subject, _: &Use) -> Result<Right, Unreadable> {
        if subject.user.starts_with("mallory") {
            Ok(Right::Missing)
        } else {
            Ok(Right::Granted)
        }
    }
}

impl ClusterReader for Cluster {
    async fn cached(&self, dependencies: &Dependencies) -> Snapshot {
        if self.stale {
            Snapshot::default()
        } else {
            now(dependencies)
        }
    }

    async fn fresh(&self, dependencies: &Dependencies) -> Result<Snapshot, Unreadable> {
        Ok(now(dependencies))
    }
}

fn now(dependencies: &Dependencies) -> Snapshot {
    let node = match dependencies.node.as_deref() {
        Some("node-1") => {
            let labels =
                ["role", "ip.wgtwo.com.node-restriction.kubernetes.io/office"].map(str::to_owned);
            let [role, office] = labels;
            BoundNode::Labelled(BTreeMap::from([
                (role, "edge".to_owned()),
                (office, String::new()),
            ]))
        }
        Some("gone") => BoundNode::Absent,
        _ => BoundNode::Unknown,
    };
    let service = |address: Address| {
        (address.ipv4().octets()[3] == 99)
            .then(|| Parent::Else("Service default/kubernetes".to_owned()))
    };
    snapshot()
        .with_node(node)
        .with_parent(dependencies.address.and_then(service))
}
