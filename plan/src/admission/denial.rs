//! A refusal that says what to do next.

use alloc::string::String;
use core::fmt;

/// What kind of refusal it is, in HTTP's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DenyReason {
    /// The request cannot be read.
    BadRequest,
    /// What is asked for must not be.
    Forbidden,
    /// The object says something that cannot be.
    Invalid,
    /// What is needed to decide cannot be read now.
    Unavailable,
    /// A fault of ours.
    Fault,
}

impl DenyReason {
    /// The HTTP status code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::Invalid => 422,
            Self::Unavailable => 503,
            Self::Fault => 500,
        }
    }

    /// The `reason` of a Kubernetes `Status` (apimachinery, `StatusReason`).
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
            Self::Unavailable => "ServiceUnavailable",
            Self::Fault => "InternalError",
        }
    }
}

/// Why a request is refused, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Denial {
    reason: DenyReason,
    what: String,
    way_out: String,
    from_cache: bool,
}

impl Denial {
    /// A refusal that the request alone is the reason for.
    pub fn new(reason: DenyReason, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            reason,
            what: what.into(),
            way_out: way_out.into(),
            from_cache: false,
        }
    }

    /// A refusal that other objects are the reason for: if those came from a cache, they are to be
    /// read again before it is final.
    pub fn from_others(
        reason: DenyReason,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> Self {
        Self {
            from_cache: true,
            ..Self::new(reason, what, way_out)
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn reason(&self) -> DenyReason {
        self.reason
    }

    /// What is wrong, naming the object.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do next.
    #[must_use]
    pub fn way_out(&self) -> &str {
        &self.way_out
    }

    /// Whether a stale cache could be the reason for it.
    #[must_use]
    pub const fn is_from_cache(&self) -> bool {
        self.from_cache
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What ends as a sentence is followed by another.
        let between = if self.what.ends_with('.') { "" } else { ":" };
        write!(f, "{}{between} {}", self.what, self.way_out)
    }
}
