//! The copy of the tree in which mutants are built: `plan` and the dependencies of its tests.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files and folders that are copied, with everything below them.
const COPIED: [&str; 6] = [
    "plan",
    "tests/world",
    "tests/ec2-emulator",
    "Cargo.lock",
    "clippy.toml",
    "rust-toolchain.toml",
];

/// A low optimization level: it still compiles within seconds, and the tests take two seconds.
const PROFILE: &str = "
[profile.dev]
debug = false
opt-level = 1
";

/// Copies the tree from the folder, except the sources of `plan`. These are returned, without files of tests.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    for part in COPIED {
        for file in files(&from.join(part))? {
            let name = file.strip_prefix(from).unwrap_or(&file);
            let text = fs::read(&file)?;
            let path = name.to_string_lossy().into_owned();
            if path.starts_with("plan/src/") && !is_of_tests(&path) {
                sources.insert(path, String::from_utf8_lossy(&text).into_owned());
            } else {
                write(&to.join(name), &text)?;
            }
        }
    }
    let workspace = fs::read_to_string(from.join("Cargo.toml"))?;
    write(&to.join("Cargo.toml"), manifest(&workspace).as_bytes())?;
    Ok(sources)
}

/// The workspace manifest without its package, and with the copied members only.
fn manifest(workspace: &str) -> String {
    let (shared, _) = workspace
        .split_once("[package]\n")
        .unwrap_or((workspace, ""));
    let lines = shared.lines().map(|line| {
        if line.starts_with("members = ") {
            "members = [\"plan\", \"tests/ec2-emulator\", \"tests/world\"]"
        } else if line.starts_with("exclude = ") {
            ""
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n") + PROFILE
}

/// The file, or the files below the folder.
pub(crate) fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(files(&entry?.path())?);
    }
    found.sort();
    Ok(found)
}

/// Writes the file unless it has this text already, so that unchanged files are not built again.
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Is it the module `tests` of another file? It is compiled only for tests.
fn is_of_tests(path: &str) -> bool {
    path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_the_workspace_without_its_package() {
        let workspace =
            "[workspace]\nmembers = [\"plan\", \"tests/e2e\"]\n\n[package]\nname = \"mooring\"\n";
        let manifest = manifest(workspace);
        assert!(manifest.contains("members = [\"plan\", \"tests/ec2-emulator\", \"tests/world\"]"));
        assert!(!manifest.contains("mooring"));
    }

    #[test]
    fn a_module_of_tests_is_not_changed() {
        assert!(is_of_tests("plan/src/engine/call_queue/tests.rs"));
        assert!(!is_of_tests("plan/src/engine/call_queue.rs"));
        assert!(!is_of_tests("plan/src/step/latests.rs"));
    }
}
