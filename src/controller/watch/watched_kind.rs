//! How the objects of one kind become facts.

use kube::Api;
use kube::api::DynamicObject;
use mooring_plan::address::Address;
use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{BlockName, IpName, IpUid, NodeName, PodUid};

use crate::api::names;
use crate::api::read::{self, Unreadable};
use crate::controller::apis::Apis;
use crate::controller::gate_cache::GateCache;
use crate::controller::object_cache::ObjectCache;
use crate::telemetry::chain;

/// One kind that is watched.
#[derive(Clone)]
pub(super) struct WatchedKind {
    pub(super) kind: Kind,
    pub(super) api: Api<DynamicObject>,
    /// Chosen by the server: pods without our label never come here.
    pub(super) selector: Option<&'static str>,
    latest: ObjectCache,
    gates: GateCache,
}

impl WatchedKind {
    pub(super) fn of(kind: Kind, apis: &Apis) -> Self {
        let (api, selector) = match kind {
            Kind::Ip => (apis.ips(), None),
            Kind::Block => (apis.blocks(), None),
            Kind::Pod => (apis.all_pods(), Some(names::IP_LABEL)),
            Kind::Node => (apis.nodes(), None),
            Kind::NodeReport => (apis.node_reports(), None),
            Kind::Reservation => (
                apis.reservations(),
                Some("ipaddress.kubernetes.io/managed-by=ip.wgtwo.com"),
            ),
        };
        Self {
            kind,
            api,
            selector,
            latest: apis.latest().clone(),
            gates: apis.gates().clone(),
        }
    }

    /// What tells an object of the kind from another: of a pod its UID, since a name is used again; of an
    /// `IP` both, since what is known of it bears its name.
    pub(super) fn key(&self, object: &DynamicObject) -> Option<String> {
        match self.kind {
            Kind::Pod => object.metadata.uid.clone(),
            Kind::Ip => {
                let meta = &object.metadata;
                let (name, uid) = (meta.name.as_ref()?, meta.uid.as_ref()?);
                Some(format!("{name}/{uid}"))
            }
            _ => object.metadata.name.clone(),
        }
    }

    /// An object that cannot be read, as far as it is known all the same.
    pub(super) fn unreadable(&self, object: &DynamicObject, error: &Unreadable) -> Option<Fact> {
        match self.kind {
            Kind::Ip => read::unreadable_ip(object, chain(&error.problem)).map(Fact::IpUnreadable),
            Kind::Block | Kind::Pod | Kind::Node | Kind::Reservation | Kind::NodeReport => None,
        }
    }

    pub(super) fn read(&self, object: &DynamicObject) -> Result<Fact, Unreadable> {
        match self.kind {
            Kind::Ip => self.latest.see(object),
            Kind::Pod => self.gates.see(object),
            _ => {}
        }
        match self.kind {
            Kind::Ip => read::ip(object).map(Fact::Ip),
            Kind::Block => read::block(object).map(Fact::Block),
            Kind::Pod => read::pod(object).map(Fact::Pod),
            Kind::Node => read::node(object).map(Fact::Node),
            Kind::Reservation => read::reservation(object).map(Fact::Reservation),
            Kind::NodeReport => read::node_report(object).map(Fact::NodeReport),
        }
    }

    /// The API server counts versions from an earlier one again.
    pub(super) fn doubt_versions(&self) {
        match self.kind {
            Kind::Ip => self.latest.forget_all(),
            Kind::Pod => self.gates.forget_all(),
            _ => {}
        }
    }

    /// The watch said that it went.
    pub(super) fn deleted(&self, key: &str) -> Option<Fact> {
        match self.kind {
            Kind::Pod => {
                self.gates.forget(key);
                Some(Fact::PodDeleted(PodUid::from(key)))
            }
            _ => self.vanished(key),
        }
    }

    /// A list does not show it any more.
    pub(super) fn vanished(&self, key: &str) -> Option<Fact> {
        Some(match self.kind {
            Kind::Ip => {
                let (name, uid) = key.split_once('/')?;
                self.latest.forget(name);
                Fact::IpGone(IpName::from(name), IpUid::from(uid))
            }
            Kind::Block => Fact::BlockGone(BlockName::from(key)),
            Kind::Pod => {
                self.gates.forget(key);
                Fact::PodVanished(PodUid::from(key))
            }
            Kind::Node => Fact::NodeGone(NodeName::from(key)),
            Kind::NodeReport => Fact::NodeReportGone(NodeName::from(key)),
            Kind::Reservation => Fact::ReservationGone(key.parse::<Address>().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selector_of_reservations_is_made_of_the_names() {
        let selector = format!("{}={}", names::MANAGED_BY_LABEL, names::MANAGED_BY);
        assert_eq!(selector, "ipaddress.kubernetes.io/managed-by=ip.wgtwo.com");
    }
}
