//! The paths of the repository, of the build folder, and of the binaries that are started.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> PathBuf {
    // The binary only runs on the machine where it was built, because it starts other files of the build.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate lies two folders deep")
        .to_owned()
}

/// The build folder: `CARGO_TARGET_DIR`, or `target`.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// A binary of the control plane, such as `("kubernetes", "kubectl")`, built by `tests/control-plane/build.sh`.
///
/// # Panics
/// If it is not built.
pub fn control_plane_binary(module: &str, binary: &str) -> PathBuf {
    let path = target().join("control-plane").join(module).join(binary);
    assert!(
        path.exists(),
        "{} is not built: run tests/control-plane/build.sh {module}",
        path.display()
    );
    path
}

/// A binary of this workspace; `variable` names the environment variable that overrides its path.
pub(crate) fn workspace_binary(name: &str, variable: &str) -> PathBuf {
    let path =
        std::env::var_os(variable).map_or_else(|| target().join("debug").join(name), PathBuf::from);
    assert!(
        path.exists(),
        "{} is not built: run `cargo build --workspace --bins`, or set {variable}",
        path.display()
    );
    path
}
