//! A request, its handling, and its outcome.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// GET of one object.
    Get,
    /// GET of a list.
    List,
    /// A GET with `watch`.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl Verb {
    /// Whether the request may change something.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        })
    }
}

/// A request, as it arrives.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// The sequence number of the request, from 0.
    pub sequence: u64,
    /// The client.
    pub user: String,
    /// The verb.
    pub verb: Verb,
    /// The API group. Empty: the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
    /// The namespace. Empty: the kind is cluster-scoped, or all namespaces.
    pub namespace: String,
    /// The name of the object. Empty for a list, a watch and a create.
    pub name: String,
    /// The subresource, such as `status`. Empty: none.
    pub subresource: String,
    /// The query string of the request.
    pub query: String,
    /// The body. Null: none.
    pub body: Arc<Value>,
}

/// The handling of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It is executed and answered at once.
    #[default]
    Serve,
    /// It arrives after this time, also if its sender has stopped waiting.
    ServeAfter(Duration),
    /// It is executed at once, and the answer arrives after this time.
    AnswerAfter(Duration),
    /// It is not executed, and the answer has this code.
    Fail(u16),
    /// It is executed, and the answer has this code.
    FailAfterCommit(u16),
    /// It is executed, and the connection breaks.
    LoseAnswer,
    /// It is not executed, and the connection breaks.
    LoseRequest,
    /// It is not executed, and there is no answer.
    Hang,
}

/// Chooses the handling of each request.
pub type Gate = Box<dyn FnMut(&RequestInfo) -> Fate + Send>;

/// How another client reverts an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversion {
    /// A mutating webhook: the update succeeds, and changes nothing.
    Webhook,
    /// A controller writes the former state again at once.
    Controller,
}

/// Chooses the updates that are reverted.
pub type Reverter = Box<dyn Fn(&RequestInfo) -> Option<Reversion> + Send>;

/// A request in the history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The request.
    pub request: RequestInfo,
    /// Its handling.
    pub fate: Fate,
    /// Its outcome; `None` if it is not executed (yet).
    pub outcome: Option<Outcome>,
    /// When it was sent, as time since the start.
    pub arrived: Duration,
    /// When the answer reached the sender. None: it did not.
    pub answered: Option<Duration>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The HTTP code. A fault may give another code to the sender.
    pub code: u16,
    /// The body of the answer. For a list: the objects with their versions. For a watch: nothing.
    pub body: Arc<Value>,
    /// When it was executed, as time since the start.
    pub at: Duration,
    /// The newest version of the store after the execution.
    pub version: u64,
    /// Its place in the order of all writes. A restored backup sets versions back, but not this number.
    pub order: u64,
}
