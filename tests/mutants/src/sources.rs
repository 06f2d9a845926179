//! The files of `plan` with all their mutants.

use std::error::Error;
use std::fs;
use std::path::Path;

use crate::constants;
use crate::discover;
use crate::site::{Found, Mutant, Site};
use crate::tree;

/// A file of `plan`.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) found: Found,
}

impl Source {
    pub(crate) fn mutants(&self) -> impl Iterator<Item = (&Site, &Mutant)> {
        let sites = self.found.sites.iter();
        sites.flat_map(|site| site.mutants.iter().map(move |mutant| (site, mutant)))
    }
}

/// Copies the tree, and finds all mutants.
pub(crate) fn sources(root: &Path, to: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let texts = tree::copy(root, to)?;
    let mut parsed = Vec::new();
    for text in texts.values() {
        parsed.push(syn::parse_file(text)?);
    }
    for folder in ["plan/tests", "tests/world/src"] {
        for file in tree::files(&root.join(folder))? {
            if file.extension().is_some_and(|extension| extension == "rs") {
                parsed.push(syn::parse_file(&fs::read_to_string(file)?)?);
            }
        }
    }
    let constant = constants::needed(&parsed);
    let mut next = 1;
    let mut sources = Vec::new();
    for (path, text) in texts {
        let found = discover::discover(&text, next, &constant)?;
        next = found.next;
        sources.push(Source { path, text, found });
    }
    Ok(sources)
}
