//! What Mooring reads from others, fed with anything at all: four plain functions from bytes to nothing,
//! each of which panics where a promise is broken.
//!
//! `tests/whatever_comes.rs` feeds them the corpus and what a seeded [`mutate::Mutator`] makes of it;
//! `nightly/` is a crate of its own for `cargo fuzz`, which looks at the branches that are taken.
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

/// Something that is fed with bytes.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    /// Its name, which is also its folder's in the corpus.
    pub name: &'static str,
    /// Panics where a promise is broken.
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
    /// Its clock runs ahead where something only waits, such as the SDK before it tries again.
    static RUNTIME: Runtime = {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}
