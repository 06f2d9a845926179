//! Names and ids, each as a type of its own, so that a pod UID cannot be compared with an instance id, and the name of
//! a node cannot be used for its machine. The text is shared (`Arc`), because each name is in several indexes.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU128;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates it from the text in the object.
            pub fn new(text: impl Into<String>) -> Self {
                Self(Arc::from(text.into()))
            }

            /// The text in the object.
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
    /// Name of an `IP`; also the value of the label on its pods.
    IpName;
    /// UID of an `IP`. An IP that is deleted and created again with the same name has another UID.
    IpUid;
    /// Name of an `IPBlock`.
    BlockName;
    /// UID of a pod. The holder of an address is identified by UID, not by name.
    PodUid;
    /// Name of a namespace.
    Namespace;
    /// Name of a Node. Another machine can get the same name later: see [`InstanceId`].
    NodeName;
    /// UID of a `ReplicaSet`.
    ReplicaSetUid;
    /// UID of a `Deployment`.
    DeploymentUid;
    /// UID of a workload: a `Deployment`, a `StatefulSet`, or another controller of pods.
    WorkloadUid;
    /// EC2 instance id, `i-…`: the last part of the `providerID` of a Node.
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
    /// The label of nodes that can carry addresses of this block. If the block has no `nodeSelector`, pods are
    /// scheduled by this label.
    #[must_use]
    pub fn node_label(&self) -> String {
        alloc::format!("ip.wgtwo.com.node-restriction.kubernetes.io/{self}")
    }
}

/// Namespace and name of a pod. They do not identify one pod over time: see [`PodUid`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    /// The namespace of the pod.
    pub namespace: Namespace,
    /// The name of the pod.
    pub name: String,
}

impl PodKey {
    /// The key of a pod.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: Namespace::new(namespace),
            name: name.into(),
        }
    }

    /// Parses `namespace/name`, the format of `status.pod`.
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
    /// The instance of the ENI when the place was chosen.
    pub instance: InstanceId,
}

/// The `resourceVersion` of an object: a decimal number that can be compared (Kubernetes 1.35, KEP-5504).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(pub u64);

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The unique id of a claim within its IP: the `resourceVersion` of the IP that the claim replaced. No two writes
/// replace the same version. 0: the claim was written before claims had ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub u64);

/// One boot of the kernel of a node: the UUID in `/proc/sys/kernel/random/boot_id`, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootId(NonZeroU128);

impl BootId {
    /// Parses the text in `status` of a Node or of an `IPNode`. None: it is not a UUID, so the boot is not known.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|digit| *digit != '-').collect();
        let uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&digits, 16).ok().filter(|_| uuid)?;
        NonZeroU128::new(number).map(Self)
    }
}

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

/// Maximum number of names in a message; the others are only counted.
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
