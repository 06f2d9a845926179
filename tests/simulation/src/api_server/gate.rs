//! What is asked, what happens to it, and what came of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// GET of one.
    Get,
    /// GET of many.
    List,
    /// GET of what changes.
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
    /// The how many-th of this server's life, from 0.
    pub sequence: u64,
    /// Who asks.
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

/// What happens to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It is done and answered at once.
    #[default]
    Serve,
    /// It is on its way so long. It arrives although its sender may have given up.
    ServeAfter(Duration),
    /// It is done at once, and the answer is on its way so long.
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

/// Decides for each request what happens to it.
pub type Gate = Box<dyn FnMut(&RequestInfo) -> Fate + Send>;

/// A request in the history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was asked.
    pub request: RequestInfo,
    /// What happened to it.
    pub fate: Fate,
    /// What the server made of it; None: it was not carried out (yet).
    pub outcome: Option<Outcome>,
    /// When it was sent, since the start.
    pub arrived: Duration,
    /// When the answer reached the sender; None: it did not.
    pub answered: Option<Duration>,
}

/// What was done about a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The HTTP code, although the sender may have been told another.
    pub code: u16,
    /// The answer's body; of a list which objects at which version, of a watch nothing.
    pub body: Arc<Value>,
    /// When, since the start.
    pub at: Duration,
    /// The newest version of all when it was done.
    pub version: u64,
    /// Its place in the order of everything: a backup sets versions back, but not this.
    pub order: u64,
}
