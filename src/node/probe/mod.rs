//! Does the other side see the address? The node part opens TCP connections from programmed addresses to a target
//! that answers with the source that it saw (`mooring echo`), on the way of the packets of the pod.
//!
//! [`Orders`] (what is probed) -> attempts -> [`Progress`] (what they mean) -> [`Outcomes`]. Only the attempts have
//! effects. `docs/design/node.md` explains the data path.

mod attempt;
mod order;
mod outcome;
mod run;

pub use attempt::AttemptError;
pub use order::{Order, Orders, Subject, orders};
pub use outcome::{Attempt, Found, Outcome, Outcomes, Progress};
pub use run::{Limits, run};
