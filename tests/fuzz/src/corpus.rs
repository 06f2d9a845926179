//! The inputs that are kept: real examples, and whatever broke a promise once.

use std::path::{Path, PathBuf};

/// An input that is kept.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its file.
    pub file: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The folder of a body's inputs.
#[must_use]
pub fn folder(body: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(body)
}

/// A body's inputs, in the order of their names.
#[must_use]
pub fn inputs(body: &str) -> Vec<Input> {
    let folder = folder(body);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| Input {
        bytes: std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        file,
    };
    files.into_iter().map(read).collect()
}
