//! Converts the objects of one kind to facts.

use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{Config, Event, Result as WatchResult};
use mooring_plan::address::Address;
use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::{BlockName, IpName, IpUid, NodeName, PodUid};

use crate::api::read::{self, Fields, NodeFields, PodFields, Reduced, Unreadable, Whole};
use crate::api::{Ip, IpBlock, IpNode};
use crate::api::{names, watching};
use crate::controller::apis::{self, Apis};
use crate::telemetry::chain;

/// One watched kind.
#[derive(Clone)]
pub(super) struct WatchedKind {
    pub(super) kind: Kind,
    resource: ApiResource,
    /// A label selector that the API server applies: pods without the label of Mooring are never received.
    pub(super) selector: Option<&'static str>,
    apis: Apis,
}

impl WatchedKind {
    pub(super) fn of(kind: Kind, apis: &Apis) -> Self {
        let (resource, selector) = match kind {
            Kind::Ip => (ApiResource::erase::<Ip>(&()), None),
            Kind::Block => (ApiResource::erase::<IpBlock>(&()), None),
            Kind::Pod => (ApiResource::erase::<Pod>(&()), Some(names::IP_LABEL)),
            Kind::Node => (ApiResource::erase::<Node>(&()), None),
            Kind::NodeReport => (ApiResource::erase::<IpNode>(&()), None),
            Kind::Reservation => (
                apis::reservation(),
                Some("ipaddress.kubernetes.io/managed-by=ip.wgtwo.com"),
            ),
        };
        Self {
            kind,
            resource,
            selector,
            apis: apis.clone(),
        }
    }

    /// A client for their metadata.
    pub(super) fn api(&self) -> Api<DynamicObject> {
        self.apis.all(&self.resource)
    }

    /// The events of the watch: first a list, then the changes.
    pub(super) fn events(&self) -> BoxStream<'static, WatchResult<Event<DynamicObject>>> {
        match self.kind {
            Kind::Pod => self.events_with::<PodFields>(),
            Kind::Node => self.events_with::<NodeFields>(),
            Kind::Ip | Kind::Block | Kind::NodeReport | Kind::Reservation => {
                self.events_with::<Whole>()
            }
        }
    }

    fn events_with<F: Fields>(&self) -> BoxStream<'static, WatchResult<Event<DynamicObject>>> {
        let api: Api<Reduced<F>> = self.apis.all(&self.resource);
        let config = Config {
            label_selector: self.selector.map(str::to_owned),
            ..watching::watch()
        };
        Box::pin(watching::events(api, config))
    }

    /// The key that identifies an object of the kind. For a pod it is the UID, because names are reused. It is name and
    /// UID for the kinds whose facts are stored by name and come from answers too.
    pub(super) fn key(&self, object: &DynamicObject) -> Option<String> {
        match self.kind {
            Kind::Pod => object.metadata.uid.clone(),
            Kind::Ip | Kind::Node | Kind::Reservation => {
                let meta = &object.metadata;
                let (name, uid) = (meta.name.as_ref()?, meta.uid.as_ref()?);
                Some(format!("{name}/{uid}"))
            }
            Kind::Block | Kind::NodeReport => object.metadata.name.clone(),
        }
    }

    /// The fact for an object that cannot be read. None: nothing is known of it.
    pub(super) fn unreadable(&self, object: &DynamicObject, error: &Unreadable) -> Option<Fact> {
        match self.kind {
            Kind::Ip => read::unreadable_ip(object, chain(&error.problem)).map(Fact::IpUnreadable),
            Kind::Block | Kind::Pod | Kind::Node | Kind::Reservation | Kind::NodeReport => None,
        }
    }

    pub(super) fn read(&self, object: &DynamicObject) -> Result<Fact, Unreadable> {
        if self.kind == Kind::Ip {
            self.apis.object_cache().see(object);
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

    /// The store was restored: known versions cannot be compared with new ones.
    pub(super) fn reset_versions(&self) {
        if self.kind == Kind::Ip {
            self.apis.object_cache().forget_all();
        }
    }

    /// The fact for an object that the watch reported as deleted.
    pub(super) fn deleted(&self, key: &str) -> Option<Fact> {
        match self.kind {
            Kind::Pod => Some(Fact::PodDeleted(PodUid::from(key))),
            _ => self.vanished(key),
        }
    }

    /// The fact for a known object that a complete list does not contain.
    pub(super) fn vanished(&self, key: &str) -> Option<Fact> {
        Some(match self.kind {
            Kind::Ip => {
                let (name, uid) = key.split_once('/')?;
                self.apis.object_cache().forget(name);
                Fact::IpGone(IpName::from(name), IpUid::from(uid))
            }
            Kind::Block => Fact::BlockGone(BlockName::from(key)),
            Kind::Pod => Fact::PodVanished(PodUid::from(key)),
            Kind::Node => {
                let (name, uid) = key.split_once('/')?;
                Fact::NodeGone(NodeName::from(name), uid.to_owned())
            }
            Kind::NodeReport => Fact::NodeReportGone(NodeName::from(key)),
            Kind::Reservation => {
                let (name, uid) = key.split_once('/')?;
                Fact::ReservationGone(name.parse::<Address>().ok()?, uid.to_owned())
            }
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
