//! The corpus: real examples, and inputs that have violated a property.

use std::path::{Path, PathBuf};

/// An input of the corpus.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its file.
    pub file: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The corpus folder of a body.
#[must_use]
pub fn folder(body: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(body)
}

/// The corpus of a body, in the order of the file names.
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
