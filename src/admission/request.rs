//! A parsed review.

use kube::Resource;
use mooring_plan::admission::usage::Requester;

/// The requested operation on an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<K> {
    /// The object is created.
    Create(K),
    /// The object is updated.
    Update {
        /// The present version.
        old: K,
        /// The requested version.
        new: K,
    },
    /// The object is deleted.
    Delete(K),
}

/// A request for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<K> {
    /// The id of the review, which the answer must repeat.
    pub uid: String,
    /// The namespace of the object. Empty if the object has none.
    pub namespace: String,
    /// The user that makes the request.
    pub requester: Requester,
    /// The requested operation.
    pub operation: Operation<K>,
}

impl<K: Resource<DynamicType = ()>> Request<K> {
    /// The object in a message. One that is made from a template has no name yet.
    #[must_use]
    pub fn called(&self) -> String {
        let (Operation::Create(object)
        | Operation::Update { new: object, .. }
        | Operation::Delete(object)) = &self.operation;
        let (kind, meta) = (K::kind(&()), object.meta());
        let name = match (&meta.name, &meta.generate_name) {
            (Some(name), _) => name.clone(),
            (None, prefix) => format!("{}*", prefix.as_deref().unwrap_or_default()),
        };
        if self.namespace.is_empty() {
            format!("{kind} \"{name}\"")
        } else {
            format!("{kind} \"{}/{name}\"", self.namespace)
        }
    }
}
