//! The verdict on a review.

use json_patch::{Patch, PatchOperation};
use mooring_plan::admission::Denial;
use mooring_plan::admission::usage::Use;

/// The request is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// The mutations of the object. May be empty.
    pub patch: Patch,
    /// How the object uses an IP. With `--authorize-use` the request is allowed only with the right to this use.
    pub uses: Option<Use>,
    /// Which address was granted to which pod, for the audit log of the API server.
    pub granted: Option<String>,
}

impl Allowed {
    /// Allowed, without warnings or mutations.
    #[must_use]
    pub fn silently() -> Self {
        Self::default()
    }

    /// Adds these warnings.
    #[must_use]
    pub fn warning(mut self, warning: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warning);
        self
    }

    /// Sets the use of an IP.
    #[must_use]
    pub fn using(mut self, wanted: Use) -> Self {
        self.uses = Some(wanted);
        self
    }

    /// Sets the text for the audit log.
    #[must_use]
    pub fn granting(mut self, granted: String) -> Self {
        self.granted = Some(granted);
        self
    }

    /// Sets the mutations.
    #[must_use]
    pub fn changing(mut self, operations: Vec<PatchOperation>) -> Self {
        self.patch = Patch(operations);
        self
    }
}

/// Allowed, or a refusal that says what to do.
pub type Verdict = Result<Allowed, Denial>;
