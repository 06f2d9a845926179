//! Every name in the last column of the glossary is defined in the sources.

use std::path::Path;

use crate::definitions::Definitions;
use crate::{read, root};

/// Is it a path of a file or a folder?
fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|kind| kind == "rs")
}

/// The path of a file or folder, relative to the repository.
fn located(name: &str) -> Option<String> {
    ["", "plan/src/"]
        .into_iter()
        .map(|folder| format!("{folder}{name}"))
        .find(|path| root().join(path).exists())
}

/// A name in a row: `module::Type::Part`, where the module and the type can be absent.
struct Name<'a> {
    module: Option<&'a str>,
    parent: Option<&'a str>,
    last: &'a str,
}

fn parse(name: &str) -> Name<'_> {
    // `Option<Claim>` is about `Claim`.
    let inner = name.rsplit('<').next().unwrap().trim_end_matches('>');
    let mut segments: Vec<_> = inner.split("::").collect();
    let last = segments.pop().unwrap();
    let is_type = |name: &&str| name.starts_with(char::is_uppercase);
    let parent = segments.pop_if(|name| is_type(&&**name));
    Name {
        module: segments.pop(),
        parent,
        last,
    }
}

/// Is `file` the module `name`, or below it?
fn in_module(file: &str, name: &str) -> bool {
    let file = Path::new(file).with_extension("");
    file.components().any(|part| part.as_os_str() == name)
}

/// The errors in a row: the names that are not defined in the place that the row gives.
fn undefined<'a>(column: &'a str, definitions: &Definitions) -> Vec<&'a str> {
    let names: Vec<_> = column.split('`').skip(1).step_by(2).collect();
    let (paths, names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_path(name));
    let files: Vec<_> = paths.iter().filter_map(|path| located(path)).collect();
    let mut wrong: Vec<_> = paths
        .into_iter()
        .filter(|path| located(path).is_none())
        .collect();
    wrong.extend(names.into_iter().filter(|name| {
        if let Some(target) = name.strip_prefix("make ") {
            return !read("Makefile").contains(&format!("\n{target}:"));
        }
        if name.starts_with("core::") {
            let import = format!("use {name};");
            return !read("plan/src/engine.rs").contains(&import);
        }
        let Name {
            module,
            parent,
            last,
        } = parse(name);
        !definitions.has(parent, last, |file| match module {
            Some(module) => in_module(file, module),
            None => files.is_empty() || files.iter().any(|known| file.starts_with(known)),
        })
    }));
    wrong
}

#[test]
fn the_glossary_names_what_the_sources_define() {
    let definitions = Definitions::of_product();
    let glossary = read("docs/glossary.md");
    let rows = glossary.lines().filter(|line| line.starts_with("| "));
    let mut count = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let Some(column) = row.trim_end_matches(" |").rsplit(" | ").next() else {
            continue;
        };
        count += column.split('`').count() / 2;
        for name in undefined(column, &definitions) {
            wrong.push(format!("{name} in {row}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 60, "{count} names");
}

#[test]
fn a_term_has_one_row() {
    let glossary = read("docs/glossary.md");
    let mut terms: Vec<_> = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|term| *term != "term")
        .collect();
    let count = terms.len();
    terms.sort_unstable();
    terms.dedup();
    assert_eq!(terms.len(), count);
}
