//! A refusal of the webhook, with a message that says what to do next.

use alloc::string::String;
use core::fmt;

/// The kind of a refusal. Each has an HTTP status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DenyReason {
    /// The request cannot be read.
    BadRequest,
    /// The request is not allowed.
    Forbidden,
    /// The object has an invalid value.
    Invalid,
    /// An object that the decision needs cannot be read now.
    Unavailable,
    /// An internal error of Mooring.
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

/// Why a request is refused, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Denial {
    reason: DenyReason,
    what: String,
    way_out: String,
    from_cache: bool,
}

impl Denial {
    /// A refusal that depends only on the request.
    pub fn new(reason: DenyReason, what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            reason,
            what: what.into(),
            way_out: way_out.into(),
            from_cache: false,
        }
    }

    /// A refusal that depends on other objects. If they came from a cache, they must be read again before the
    /// refusal is final.
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

    /// The kind of the refusal.
    #[must_use]
    pub const fn reason(&self) -> DenyReason {
        self.reason
    }

    /// What is wrong, with the name of the object.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do next.
    #[must_use]
    pub fn way_out(&self) -> &str {
        &self.way_out
    }

    /// True if a stale cache could have caused the refusal.
    #[must_use]
    pub const fn is_from_cache(&self) -> bool {
        self.from_cache
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A full stop ends a sentence, so no colon follows.
        let between = if self.what.ends_with('.') { "" } else { ":" };
        write!(f, "{}{between} {}", self.what, self.way_out)
    }
}
