//! Whose right to use an IP counts, when a pod that asks for it is created.
//! Rule: R8.20.
//!
//! What a pod says of its owners never counts: the creator of a pod can write any owner into it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::{Denial, DenyReason};
use crate::names::IpName;

/// Kubernetes' own controllers, which create the pods of Deployments, Jobs and their like.
const CONTROLLERS: &str = "system:serviceaccounts:kube-system";
/// The account of a pod that names none.
const DEFAULT_ACCOUNT: &str = "default";

/// A user or service account, as the cluster's authorizer knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// His name.
    pub user: String,
    /// What tells him from a later user of that name; empty: nothing does.
    pub uid: String,
    /// His groups.
    pub groups: Vec<String>,
    /// What else his authenticator has said of him.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Who has sent the request that creates the pod. Whether it is his right that counts says [`Use::subject`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requester(pub Subject);

/// The account that a pod runs as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

impl ServiceAccount {
    /// That of a pod in this namespace which names this account, or none.
    #[must_use]
    pub fn of_pod(namespace: &str, named: Option<&str>) -> Self {
        let name = named.filter(|name| !name.is_empty());
        Self {
            namespace: namespace.to_string(),
            name: name.unwrap_or(DEFAULT_ACCOUNT).to_string(),
        }
    }

    /// As the API server authenticates it (Kubernetes, "Authenticating", service account tokens).
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

/// Users that create pods on behalf of others, besides Kubernetes' own controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrustedControllers(BTreeSet<String>);

impl FromIterator<String> for TrustedControllers {
    fn from_iter<T: IntoIterator<Item = String>>(users: T) -> Self {
        let named = users.into_iter().filter(|user| !user.is_empty());
        Self(named.collect())
    }
}

/// A pod is about to use an IP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// What the pod is called in a message.
    pub pod: String,
    /// The IP.
    pub ip: IpName,
    /// The account that the pod runs as.
    pub account: ServiceAccount,
}

impl Use {
    /// The subject that must have the right: the service account of the pod if a controller creates the pod, and
    /// the requester otherwise. If the account counted always, a requester could use the rights of any account
    /// by naming it.
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

    /// Where the right is asked for: a `RoleBinding` of the pod's namespace is enough.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.account.namespace
    }

    /// The refusal when this subject has no such right.
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
