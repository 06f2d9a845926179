//! Posts Events in the background. They inform users, and no other work waits for them.

mod event;
mod poster;
mod queue;

pub use event::{NewEvent, Subject};
pub use poster::{NotPosted, Poster, Reporter};
pub use queue::{Put, Queue, Taken, Waiting};
