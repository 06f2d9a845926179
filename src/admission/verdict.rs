//! What the answer to a review is.

use json_patch::{Patch, PatchOperation};
use mooring_plan::admission::Denial;

/// The request may pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// What the client is shown.
    pub warnings: Vec<String>,
    /// What is changed on the object; empty: nothing.
    pub patch: Patch,
}

impl Allowed {
    /// With nothing to say.
    #[must_use]
    pub fn silently() -> Self {
        Self::default()
    }

    /// With a warning, if there is one.
    #[must_use]
    pub fn warning(mut self, warning: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warning);
        self
    }

    /// With these changes.
    #[must_use]
    pub fn changing(mut self, operations: Vec<PatchOperation>) -> Self {
        self.patch = Patch(operations);
        self
    }
}

/// Pass, or a refusal with a way out.
pub type Verdict = Result<Allowed, Denial>;
