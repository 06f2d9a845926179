//! A request, its handling, and its outcome.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// GET of one.
    Get,
    /// GET of many.
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
    /// Whether it may change something.
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
    /// What for.
    pub verb: Verb,
    /// The group; empty: the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
    /// Empty: none, or all of them.
    pub namespace: String,
    /// Empty for a list, a watch and a create.
    pub name: String,
    /// Such as `status`; empty: none.
    pub subresource: String,
    /// The query, as it was sent.
    pub query: String,
    /// The body; null: none.
    pub body: Arc<Value>,
}

/// The handling of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It is done and answered at once.
    #[default]
    Serve,
    /// It arrives after this time, also if its sender has stopped waiting.
    ServeAfter(Duration),
    /// It is executed at once, and the answer arrives after this time.
    AnswerAfter(Duration),
    /// It is not done, and the answer is this code.
    Fail(u16),
    /// It is done, and the answer is this code.
    FailAfterCommit(u16),
    /// It is done, and the connection breaks.
    LoseAnswer,
    /// It is not done, and the connection breaks.
    LoseRequest,
    /// It is not done, and nothing comes.
    Hang,
}

/// Chooses the handling of each request.
pub type Gate = Box<dyn FnMut(&RequestInfo) -> Fate + Send>;

/// A request in the history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The request.
    pub request: RequestInfo,
    /// Its handling.
    pub fate: Fate,
    /// Its outcome; `None` if it is not executed (yet).
    pub outcome: Option<Outcome>,
    /// When it was sent, since the start.
    pub arrived: Duration,
    /// When the answer reached the sender; None: it did not.
    pub answered: Option<Duration>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The HTTP code; a fault may give another code to the sender.
    pub code: u16,
    /// The body of the answer. For a list: the objects with their versions; for a watch: nothing.
    pub body: Arc<Value>,
    /// When, since the start.
    pub at: Duration,
    /// The newest version of all when it was done.
    pub version: u64,
    /// Its place in the order of all writes. A restored backup sets versions back, but not this.
    pub order: u64,
}
