//! The manifests fit together, ask for no right that is not used, and start the binary with flags that
//! it has.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod files;
mod fit;
mod hardened;
mod rights;
