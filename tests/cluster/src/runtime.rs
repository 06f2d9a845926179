//! One runtime for all tests of a process.

use std::sync::OnceLock;

/// Runs a future on a runtime that exists until the process ends.
///
/// A `kube::Client` ends with the runtime it was made on, so tests that share a cluster share the runtime too:
///
/// ```no_run
/// # use mooring_cluster::run;
/// // in place of #[tokio::test]
/// fn an_address_follows_its_pod() {
///     run(async { /* ... */ });
/// }
/// ```
pub fn run<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .expect("a tokio runtime can be built")
        })
        .block_on(future)
}
