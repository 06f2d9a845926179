//! A parsed review.

use mooring_plan::admission::usage::Requester;

/// The requested operation on an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<K> {
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
    pub change: Change<K>,
}
