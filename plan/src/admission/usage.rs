//! Which subject must have the right to use an IP when a pod that asks for it is created.
//! Rule: R8.20.
//!
//! The ownerReferences of a pod are never used: the creator of a pod can set any owner.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::{Denial, DenyReason};
use crate::names::IpName;

/// The group of the controllers of Kubernetes, which create the pods of Deployments, Jobs and other workloads.
const CONTROLLERS: &str = "system:serviceaccounts:kube-system";
/// The `ServiceAccount` of a pod that names none.
const DEFAULT_ACCOUNT: &str = "default";

/// A user or service account, as the authorizer of the cluster knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The user name.
    pub user: String,
    /// The unique id of the user. Empty if there is none: then a later user of the same name looks the same.
    pub uid: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// Further attributes of the user from the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The sender of the request that creates the pod. [`Use::subject`] decides whose right is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requester(pub Subject);

/// The `ServiceAccount` that a pod runs as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

impl ServiceAccount {
    /// The `ServiceAccount` of a pod in this namespace. `named` is the name in the pod; if it is missing or empty, the
    /// account is `default`.
    #[must_use]
    pub fn of_pod(namespace: &str, named: Option<&str>) -> Self {
        let name = named.filter(|name| !name.is_empty());
        Self {
            namespace: namespace.to_string(),
            name: name.unwrap_or(DEFAULT_ACCOUNT).to_string(),
        }
    }

    /// The subject as the API server authenticates it (Kubernetes, "Authenticating", service account tokens).
    fn subject(&self) -> Subject {
        let Self { namespace, name } = self;
        Subject {
            user: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_string(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_string(),
            ],
            ..Subject::default()
        }
    }
}

/// Users that create pods for others, in addition to the controllers of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrustedControllers(BTreeSet<String>);

impl FromIterator<String> for TrustedControllers {
    fn from_iter<T: IntoIterator<Item = String>>(users: T) -> Self {
        let named = users.into_iter().filter(|user| !user.is_empty());
        Self(named.collect())
    }
}

/// The use of an IP by a pod that is being created.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// The pod as it is named in messages.
    pub pod: String,
    /// The IP.
    pub ip: IpName,
    /// The `ServiceAccount` that the pod runs as.
    pub account: ServiceAccount,
}

impl Use {
    /// The subject that must have the right: the `ServiceAccount` of the pod if a controller creates the pod, and the
    /// requester otherwise. If the account were always used, a requester could use the rights of any account by naming
    /// it in the pod.
    #[must_use]
    pub fn subject(&self, requester: &Requester, trusted: &TrustedControllers) -> Subject {
        let Requester(requester) = requester;
        let controllers = requester.groups.iter().any(|group| group == CONTROLLERS);
        if controllers || trusted.0.contains(&requester.user) {
            self.account.subject()
        } else {
            requester.clone()
        }
    }

    /// The namespace in which the right is checked: a `RoleBinding` in the namespace of the pod is enough.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.account.namespace
    }

    /// The refusal for a subject that does not have the right.
    #[must_use]
    pub fn refused(&self, subject: &Subject) -> Denial {
        let Self { pod, ip, .. } = self;
        Denial::new(
            DenyReason::Forbidden,
            format!(
                "pod {pod} may not use IP \"{ip}\": user \"{}\" has no right to",
                subject.user
            ),
            format!(
                "have that user bound, in namespace \"{}\", to a Role with verb \"use\" on ips.ip.wgtwo.com \"{ip}\" \
                 (docs/authorize-use.md), then try again",
                self.namespace()
            ),
        )
    }
}
