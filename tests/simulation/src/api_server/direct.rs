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

/// The reference to an object: `pods`, `default`, `app-0`. The namespace is empty for cluster-scoped objects.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The plural name.
    pub resource: &'a str,
    /// The namespace. Empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The subresource, such as `status`. Empty: the object itself.
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
    /// Creates an object.
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

    /// The present object. Neither this read nor a list is added to the history.
    #[must_use]
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = Key::new(known(resource), namespace, name);
        let state = unlocked(&self.inner.state);
        let found = state.objects.store.get(&key);
        found.map(|object| Arc::clone(&object.value))
    }

    /// The objects that match a label selector, in one namespace. An empty namespace means all.
    ///
    /// # Panics
    /// If the resource does not exist, or the selector cannot be parsed.
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

    /// Replaces the object.
    pub fn replace(&self, user: &str, target: Target<'_>, object: Value) -> Result<Value, Refusal> {
        self.direct(user, Verb::Update, target, "", object)
    }

    /// Changes the object.
    pub fn patch(
        &self,
        user: &str,
        target: Target<'_>,
        how: PatchKind,
        patch: Value,
    ) -> Result<Value, Refusal> {
        self.direct(user, Verb::Patch, target, how.content_type(), patch)
    }

    /// Deletes the object. The options are those of the API: `preconditions`, `gracePeriodSeconds` and
    /// `propagationPolicy`. Null: no options.
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
