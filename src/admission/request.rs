//! A review, once it was read.

use mooring_plan::admission::usage::Requester;

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<K> {
    /// It is new.
    Create(K),
    /// It is there and is to be changed.
    Update {
        /// As it is.
        old: K,
        /// As it is to be.
        new: K,
    },
    /// It is to go.
    Delete(K),
}

/// A request for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<K> {
    /// The review's own id, which the answer repeats.
    pub uid: String,
    /// The object's namespace; empty if it has none.
    pub namespace: String,
    /// Who wants it.
    pub requester: Requester,
    /// What is to be done.
    pub change: Change<K>,
}
