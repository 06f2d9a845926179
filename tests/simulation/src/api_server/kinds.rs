//! The kinds that are served, and the differences between them.

use std::sync::LazyLock;

use serde::Deserialize as _;
use serde_json::Value;

/// One served kind.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) plural: &'static str,
    /// `kind`.
    pub(super) name: &'static str,
    traits: &'static [Trait],
    /// The schema of its custom resource definition. None: a built-in kind of Kubernetes.
    pub(super) schema: Option<&'static Value>,
    /// The fields for field selectors, in addition to metadata.
    pub(super) fields: &'static [&'static str],
}

/// The properties of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    Namespaced,
    /// Whether its status is written separately, by the subresource `status`.
    Status,
    /// Whether `metadata.generation` counts the changes of its spec.
    Generation,
    /// Whether a PUT without a version is refused.
    VersionNeeded,
    /// Whether a PUT creates an object that does not exist.
    MadeByPut,
    /// Whether a kubelet confirms the deletion, so that a DELETE answers with the object (pods).
    EndsGracefully,
}

impl Kind {
    const fn own(
        group: &'static str,
        plural: &'static str,
        name: &'static str,
        traits: &'static [Trait],
    ) -> Self {
        Self {
            group,
            version: "v1",
            plural,
            name,
            traits,
            schema: None,
            fields: &[],
        }
    }

    const fn selectable(mut self, fields: &'static [&'static str]) -> Self {
        self.fields = fields;
        self
    }

    pub(super) fn is(&self, wanted: Trait) -> bool {
        self.traits.contains(&wanted)
    }

    /// `apiVersion`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The name of the resource in messages.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The name of the kind in other messages.
    pub(super) fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}.{}", self.name, self.group)
        }
    }
}

/// The kind at this path of the API.
pub(super) fn at(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.plural == plural)
}

/// The kind with this plural name.
pub(super) fn named(plural: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.plural == plural)
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    use Trait::{EndsGracefully, Generation, MadeByPut, Namespaced, Status, VersionNeeded};
    const POD: &[Trait] = &[Namespaced, Status, Generation, EndsGracefully];
    const POD_FIELDS: &[&str] = &["spec.nodeName", "status.phase"];
    const WORKLOAD: &[Trait] = &[Namespaced, Status, Generation];
    const LEASE: &[Trait] = &[Namespaced, VersionNeeded, MadeByPut];
    let mut kinds = vec![
        Kind::own("", "pods", "Pod", POD).selectable(POD_FIELDS),
        Kind::own("", "nodes", "Node", &[Status]),
        Kind::own("", "namespaces", "Namespace", &[Status]),
        Kind::own("coordination.k8s.io", "leases", "Lease", LEASE),
        Kind::own("apps", "replicasets", "ReplicaSet", WORKLOAD),
        Kind::own("apps", "deployments", "Deployment", WORKLOAD),
        Kind::own("networking.k8s.io", "ipaddresses", "IPAddress", &[]),
        // Kubernetes serves these objects by two API groups with one store. Here only the group that is used, and the
        // older one.
        Kind::own("events.k8s.io", "events", "Event", &[Namespaced]),
        Kind::own("", "events", "Event", &[Namespaced]),
    ];
    kinds.extend(DEFINITIONS.iter().map(custom));
    kinds
});

/// The CRDs in `config/crd`.
static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let texts = [
        include_str!("../../../../config/crd/ips.yaml"),
        include_str!("../../../../config/crd/ipblocks.yaml"),
        include_str!("../../../../config/crd/ipnodes.yaml"),
    ];
    texts
        .iter()
        .map(|text| {
            Value::deserialize(serde_yaml::Deserializer::from_str(text)).expect("a CRD is YAML")
        })
        .collect()
});

fn custom(definition: &'static Value) -> Kind {
    let text = |pointer: &str| {
        let found = definition.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("a CRD without {pointer}"))
    };
    let fields = definition
        .pointer("/spec/versions/0/selectableFields")
        .and_then(Value::as_array);
    let fields: Vec<&str> = fields
        .into_iter()
        .flatten()
        .filter_map(|field| field["jsonPath"].as_str()?.strip_prefix('.'))
        .collect();
    assert_eq!(text("/spec/scope"), "Cluster");
    Kind {
        group: text("/spec/group"),
        version: text("/spec/versions/0/name"),
        plural: text("/spec/names/plural"),
        name: text("/spec/names/kind"),
        traits: &[Trait::Status, Trait::Generation, Trait::VersionNeeded],
        schema: definition.pointer("/spec/versions/0/schema/openAPIV3Schema"),
        // Once for each process: the list of kinds is never made again.
        fields: fields.leak(),
    }
}
