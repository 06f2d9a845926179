//! Changes of objects by the simulated world: with the rules of the server, but without its faults.

use std::sync::Arc;

use serde_json::{Value, json};

use super::gate::{RequestInfo, Verb};
use super::kinds::{self, Kind};
use super::patch::PatchKind;
use super::refusal::Refusal;
use super::request::Request;
use super::store::Key;
use super::{ApiServer, unlocked};

/// An object, as the world names it: `pods`, `default`, `app-0`. No namespace: an empty one.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The plural name.
    pub resource: &'a str,
    /// Empty for kinds without.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// Such as `status`; empty: the object itself.
    pub subresource: &'a str,
}

impl<'a> Target<'a> {
    /// The object itself.
    #[must_use]
    pub const fn new(resource: &'a str, namespace: &'a str, name: &'a str) -> Self {
        Self {
            resource,
            namespace,
            name,
            subresource: "",
        }
    }

    /// Its status.
    #[must_use]
    pub const fn status(self) -> Self {
        self.subresource("status")
    }

    /// A subresource of it.
    #[must_use]
    pub const fn subresource(mut self, subresource: &'a str) -> Self {
        self.subresource = subresource;
        self
    }
}

impl ApiServer {
    /// Makes an object.
    pub fn create(
        &self,
        user: &str,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Refusal> {
        let target = Target::new(resource, namespace, "");
        self.direct(user, Verb::Create, target, "", object)
    }

    /// Assigns a pod to a node.
    pub fn bind(
        &self,
        user: &str,
        namespace: &str,
        pod: &str,
        node: &str,
    ) -> Result<Value, Refusal> {
        let target = Target::new("pods", namespace, pod).subresource("binding");
        let binding = json!({"target": {"kind": "Node", "name": node}});
        self.direct(user, Verb::Create, target, "", binding)
    }

    /// The object as it is now. It is not noted in the history, nor is a list.
    #[must_use]
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = Key::new(known(resource), namespace, name);
        let state = unlocked(&self.inner.state);
        let found = state.objects.store.get(&key);
        found.map(|object| Arc::clone(&object.value))
    }

    /// The objects that a label selector takes, of one namespace or, with an empty one, of all.
    ///
    /// # Panics
    /// When there is no such resource, or the selector cannot be read.
    #[must_use]
    pub fn list(&self, resource: &str, namespace: &str, labels: &str) -> Vec<Arc<Value>> {
        let kind = known(resource);
        let selector = super::selector::Selector::parse(kind, labels, "")
            .unwrap_or_else(|refusal| panic!("the selector {labels}: {refusal}"));
        let state = unlocked(&self.inner.state);
        let store = &state.objects.store;
        store
            .of(kind, namespace)
            .map(|(_, object)| object)
            .filter(|object| selector.takes(&object.value))
            .map(|object| Arc::clone(&object.value))
            .collect()
    }

    /// Puts another in its place.
    pub fn replace(&self, user: &str, target: Target<'_>, object: Value) -> Result<Value, Refusal> {
        self.direct(user, Verb::Update, target, "", object)
    }

    /// Changes it.
    pub fn patch(
        &self,
        user: &str,
        target: Target<'_>,
        how: PatchKind,
        patch: Value,
    ) -> Result<Value, Refusal> {
        self.direct(user, Verb::Patch, target, how.content_type(), patch)
    }

    /// Deletes it. The options are those of the API: `preconditions`, `gracePeriodSeconds` and
    /// `propagationPolicy`; null: none.
    pub fn delete(&self, user: &str, target: Target<'_>, options: Value) -> Result<Value, Refusal> {
        self.direct(user, Verb::Delete, target, "", options)
    }

    fn direct(
        &self,
        user: &str,
        verb: Verb,
        target: Target<'_>,
        content_type: &str,
        body: Value,
    ) -> Result<Value, Refusal> {
        let mut request = Request::direct(RequestInfo {
            sequence: 0,
            user: user.to_owned(),
            verb,
            group: known(target.resource).group.to_owned(),
            resource: target.resource.to_owned(),
            namespace: target.namespace.to_owned(),
            name: target.name.to_owned(),
            subresource: target.subresource.to_owned(),
            query: String::new(),
            body: Arc::new(body),
        })
        .with_content_type(content_type);
        self.change(|state| {
            state.note(&mut request.info);
            let done = state.carry_out(&request);
            let now = state.objects.clock.elapsed();
            if let Some(entry) = state.entry(request.info.sequence) {
                entry.answered = Some(now);
            }
            done.map(|(_, value)| Arc::unwrap_or_clone(value))
        })
    }
}

fn known(resource: &str) -> &'static Kind {
    kinds::named(resource).unwrap_or_else(|| panic!("no {resource} are served here"))
}
