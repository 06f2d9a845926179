//! Events, posted in the background: they inform users, and nothing waits for them.

mod event;
mod poster;
mod queue;

pub use event::{NewEvent, Subject};
pub use poster::{NotPosted, Poster, Reporter};
pub use queue::{Put, Queue, Waiting};
