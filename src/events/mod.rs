//! Posts Events in the background. They inform users, and no other work waits for them.

mod poster;
mod posting;
mod queue;

pub use mooring_plan::events::{NewEvent, Subject};
pub use poster::{NotPosted, Poster, Reporter};
pub use posting::post_queued;
pub use queue::{Queue, Waiting};
