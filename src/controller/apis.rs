//! The API clients for the kinds that the controller reads and writes.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::networking::v1::IPAddress;
use kube::api::ApiResource;
use kube::{Api, Client, Resource};
use mooring_plan::names::Namespace;

use super::object_cache::ObjectCache;
use crate::api::read::{NodeFields, PodFields, Reduced, ReplicaSetFields, Whole};
use crate::api::{Ip, IpBlock};

/// Untyped clients that keep only the fields that are used. With typed ones, an object that does not match its schema
/// would make its whole list unreadable.
#[derive(Clone)]
pub(super) struct Apis {
    client: Client,
    object_cache: ObjectCache,
}

impl Apis {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            object_cache: ObjectCache::default(),
        }
    }

    /// The cache of the newest known version of each `IP`.
    pub(super) const fn object_cache(&self) -> &ObjectCache {
        &self.object_cache
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) fn ips(&self) -> Api<Reduced<Whole>> {
        self.all(&ApiResource::erase::<Ip>(&()))
    }

    pub(super) fn blocks(&self) -> Api<Reduced<Whole>> {
        self.all(&ApiResource::erase::<IpBlock>(&()))
    }

    pub(super) fn nodes(&self) -> Api<Reduced<NodeFields>> {
        self.all(&ApiResource::erase::<Node>(&()))
    }

    pub(super) fn reservations(&self) -> Api<Reduced<Whole>> {
        self.all(&reservation())
    }

    pub(super) fn pods(&self, namespace: &Namespace) -> Api<Reduced<PodFields>> {
        let pods = ApiResource::erase::<Pod>(&());
        Api::namespaced_with(self.client(), namespace.as_str(), &pods)
    }

    pub(super) fn replica_sets(&self, namespace: &Namespace) -> Api<Reduced<ReplicaSetFields>> {
        let sets = ApiResource::erase::<ReplicaSet>(&());
        Api::namespaced_with(self.client(), namespace.as_str(), &sets)
    }

    /// The client for all objects of a kind.
    pub(super) fn all<K: Resource<DynamicType = ApiResource>>(&self, kind: &ApiResource) -> Api<K> {
        Api::all_with(self.client(), kind)
    }
}

pub(super) fn reservation() -> ApiResource {
    ApiResource::erase::<IPAddress>(&())
}
