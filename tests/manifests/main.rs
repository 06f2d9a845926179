//! The manifests are consistent, grant no unused right, and start the binary with flags that it has.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod files;
mod fit;
mod hardened;
mod kustomize;
mod rights;
mod two_deployments;
