//! What may come in: the rules by which requests are admitted, as pure functions over what is known.
//!
//! A rule answers with a [`Denial`], which cannot be made without a way out.

pub mod address;
pub mod block;
pub mod denial;
pub mod placement;
pub mod pod;
pub mod tolerations;
pub mod usage;

pub use denial::{Because, Denial};

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How many names a message lists before it only counts.
const LISTED: usize = 5;

/// Names for a message: the first five, and how many more there are.
fn listed<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let text = names.join(", ");
    if more == 0 {
        text
    } else {
        alloc::format!("{text} and {more} more")
    }
}
