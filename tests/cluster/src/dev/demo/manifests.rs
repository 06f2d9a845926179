//! The manifests of the demo: each is a file that a user can apply again.

use std::path::{Path, PathBuf};

use mooring_cluster::{repository, target};

use crate::screen::Screen;

/// Writes a manifest to a file, and shows it.
pub(super) fn manifest(screen: &Screen, name: &str, text: &str) -> Result<String, String> {
    let folder: PathBuf = target().join("demo");
    let path = folder.join(name);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    screen.file(&shown(&path), text);
    Ok(shown(&path))
}

/// A path relative to the repository, as a user types it.
fn shown(path: &Path) -> String {
    path.strip_prefix(repository())
        .unwrap_or(path)
        .display()
        .to_string()
}
