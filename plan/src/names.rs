//! The identities that decisions are made about, each a type of its own: a pod's UID can never be
//! compared with an instance's id, nor a node's name stand for the machine behind it. The text is shared: each name of
//! an object stands in several indexes.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it stands in the object.
            pub fn new(text: impl Into<String>) -> Self {
                Self(Arc::from(text.into()))
            }

            /// The text as it stands in the object.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

names! {
    /// Name of an `IP`; also the value of the pods' label.
    IpName;
    /// UID of an `IP`: one deleted and created again under its name is another.
    IpUid;
    /// Name of an `IPBlock`.
    BlockName;
    /// A pod's UID: the holder of an address is a pod, not a name.
    PodUid;
    /// A namespace's name.
    Namespace;
    /// A Node's name. It may be used again for another machine: see [`InstanceId`].
    NodeName;
    /// UID of a `ReplicaSet`.
    ReplicaSetUid;
    /// UID of a `Deployment`.
    DeploymentUid;
    /// UID of what makes pods: a `Deployment`, a `StatefulSet`, or another controller.
    WorkloadUid;
    /// EC2 instance id, `i-…`: what a Node's `providerID` ends in.
    InstanceId;
    /// EC2 instance type, as in the label `node.kubernetes.io/instance-type`.
    InstanceType;
    /// EC2 network interface id, `eni-…`.
    InterfaceId;
    /// MAC address of a network interface, as EC2 writes it: `02:00:5e:00:53:01`.
    MacAddress;
    /// EC2 subnet id, `subnet-…`.
    SubnetId;
}

impl BlockName {
    /// The node label that says "this node can carry addresses of this block", by which its pods are
    /// steered where the block names no selector.
    #[must_use]
    pub fn node_label(&self) -> String {
        alloc::format!("ip.wgtwo.com.node-restriction.kubernetes.io/{self}")
    }
}

/// Where a pod's object is found. The name alone does not say which pod: that is [`PodUid`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    /// The pod's namespace.
    pub namespace: Namespace,
    /// The pod's name.
    pub name: String,
}

impl PodKey {
    /// A pod's key.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: Namespace::new(namespace),
            name: name.into(),
        }
    }

    /// Reads `namespace/name`, as `status.pod` has it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        (!namespace.is_empty() && !name.is_empty()).then(|| Self::new(namespace, name))
    }
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A place for an address: the same ENI on another instance is another place (R1.18).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceRef {
    /// The network interface.
    pub interface: InterfaceId,
    /// The instance that it was attached to when the place was chosen.
    pub instance: InstanceId,
}

/// An object's version. The API server's are comparable decimal numbers (Kubernetes 1.35, KEP-5504).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(pub u64);

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Tells a claim from every other one of its IP: the version of the IP that it was written over. No two writes
/// replace the same version. 0: it was written before there were such ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub u64);

impl From<ResourceVersion> for ClaimId {
    fn from(version: ResourceVersion) -> Self {
        Self(version.0)
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many names a message lists before it only counts.
const LISTED: usize = 5;

/// Names for a message: the first five, and how many more there are.
#[must_use]
pub fn listed<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let text = names.join(", ");
    if more == 0 {
        text
    } else {
        alloc::format!("{text} and {more} more")
    }
}
