//! Checks that the target sees the static address. The node part opens TCP connections from programmed addresses to
//! a target that answers with the source address that it sees (`mooring echo`). The packets use the same route as
//! those of the pod.
//!
//! [`Orders`] (what is probed) -> attempts -> [`ProbeState`] (what the attempts mean) -> [`ProbeResults`]. Only the attempts
//! do I/O. `docs/design/node.md` explains the data path.

mod attempt;
mod order;
mod outcome;
mod run;

pub use attempt::AttemptError;
pub use order::{Order, Orders, ProbedClaim, orders};
pub use outcome::{Attempt, ProbeResult, ProbeResults, ProbeState, SubjectResult};
pub use run::{Limits, run};
