//! Fuzz tests of everything that Mooring reads from others: four functions ("bodies") that take bytes, and panic if a
//! property is violated.
//!
//! `tests/random_bodies.rs` runs them with the corpus and with inputs of a seeded [`mutate::Mutator`]. `nightly/` is a
//! separate crate for `cargo fuzz`, which is guided by code coverage.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::unwrap_used,
    reason = "this is a test: what was not foreseen fails it, and objects are written in place, as JSON"
)]

pub mod annotation;
pub mod chance;
pub mod corpus;
pub mod failure;
mod json;
pub mod mutate;
pub mod objects;
pub mod review;

use tokio::runtime::Runtime;

/// A function to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Its name, which is also the name of its corpus folder.
    pub name: &'static str,
    /// Panics if a property is violated.
    pub run: fn(&[u8]),
}

/// Every body.
pub const BODIES: [Body; 4] = [
    Body {
        name: "review",
        run: review::review,
    },
    Body {
        name: "objects",
        run: objects::objects,
    },
    Body {
        name: "failure",
        run: failure::failure,
    },
    Body {
        name: "annotation",
        run: annotation::annotation,
    },
];

thread_local! {
    /// Its clock is paused, so a wait (such as the backoff of the SDK) takes no real time.
    static RUNTIME: Runtime = {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}
