//! What the answer to a review is.

use json_patch::{Patch, PatchOperation};
use mooring_plan::admission::Denial;
use mooring_plan::admission::usage::Use;

/// The request may pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// What the client is shown.
    pub warnings: Vec<String>,
    /// What is changed on the object; empty: nothing.
    pub patch: Patch,
    /// What it makes of an IP: with `--authorize-use`, only with the right to that.
    pub uses: Option<Use>,
    /// Who was granted which address, for the API server's audit log.
    pub granted: Option<String>,
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

    /// With this use of an IP.
    #[must_use]
    pub fn using(mut self, wanted: Use) -> Self {
        self.uses = Some(wanted);
        self
    }

    /// With this in the audit log.
    #[must_use]
    pub fn granting(mut self, granted: String) -> Self {
        self.granted = Some(granted);
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
