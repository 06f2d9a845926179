//! Finds import cycles between the files of one folder.
//!
//! The nodes of a folder are its own file (`mod.rs`, or `x.rs` beside `x/`) and its children, each with everything
//! below it. A name that a module imports with `use` counts as a name of the file that defines it. `pub use` is not an
//! import. Code that is compiled only for tests is ignored. Methods
//! are not imports: a type may have `impl` blocks in the children of its module, as `Engine` has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Token, UseTree, Visibility};

use crate::walk::{module_of, rust_files};

type Module = Vec<String>;

/// The imports of one file, as paths from the crate root.
#[derive(Debug, Default)]
struct Imports {
    module: Module,
    paths: BTreeSet<Module>,
    /// The names that `use` declarations bind to items of other files.
    bound: BTreeMap<String, Module>,
}

fn is_test(attributes: &[Attribute]) -> bool {
    let mut conditions = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.any(|condition| {
        let argument = condition.parse_args::<syn::Path>();
        argument.is_ok_and(|path| path.is_ident("test"))
    })
}

impl Imports {
    fn of(module: Module, text: &str) -> Self {
        let mut imports = Self {
            module,
            ..Self::default()
        };
        imports.visit_file(&syn::parse_file(text).unwrap());
        imports
    }

    fn absolute(&self, segments: &[String]) -> Module {
        let ups = segments.iter().take_while(|it| *it == "super").count();
        let (base, rest): (&[String], _) = match segments.first().map(String::as_str) {
            Some("crate") => (&[], &segments[1..]),
            Some("self") => (&self.module, &segments[1..]),
            _ => (
                &self.module[..self.module.len().saturating_sub(ups)],
                &segments[ups..],
            ),
        };
        let rest = rest.iter().filter(|segment| *segment != "self");
        base.iter().chain(rest).cloned().collect()
    }

    fn tree(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => return self.tree(&path.tree, &with(&path.ident), exported),
            UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.tree(tree, before, exported));
            }
            UseTree::Glob(_) => (before.to_vec(), None),
            UseTree::Name(name) => (with(&name.ident), Some(&name.ident)),
            UseTree::Rename(rename) => (with(&rename.ident), Some(&rename.rename)),
        };
        let path = self.absolute(&path);
        if let Some(name) = name.filter(|name| *name != "self") {
            self.bound.insert(name.to_string(), path.clone());
        }
        if !exported {
            self.paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.tree(&item.tree, &[], exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        // A single word can be a variable.
        if segments.len() > 1 {
            let absolute = self.absolute(&segments);
            self.paths.insert(absolute);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let arguments = Punctuated::<syn::Expr, Token![,]>::parse_terminated;
        let mut inner = Self {
            module: self.module.clone(),
            ..Self::default()
        };
        if let Ok(arguments) = call.parse_body_with(arguments) {
            for argument in &arguments {
                inner.visit_expr(argument);
            }
        }
        self.paths.append(&mut inner.paths);
    }
}

/// The files of a crate.
pub struct Sources(BTreeMap<Module, Imports>);

impl Sources {
    /// Reads all files below this folder except tests.
    pub fn read(source: &Path) -> Self {
        let files = rust_files(source).into_iter();
        let files = files.map(|file| (module_of(&file, source), file));
        let files = files.filter(|(module, file)| {
            !module.iter().any(|part| part == "tests") && !file.ends_with("main.rs")
        });
        let read = files.map(|(module, file)| (module, std::fs::read_to_string(file).unwrap()));
        Self::of(read)
    }

    fn of(files: impl Iterator<Item = (Module, String)>) -> Self {
        Self(
            files
                .map(|(module, text)| (module.clone(), Imports::of(module, &text)))
                .collect(),
        )
    }

    /// The file that defines the item of this path.
    fn defined(&self, path: &[String]) -> Option<&Module> {
        let mut path = path.to_vec();
        let mut found = None;
        // Two modules can re-export from each other, so the number of steps is limited. No real chain has more.
        for _ in 0..8 {
            let mut lengths = (0..=path.len()).rev();
            let (module, imports) =
                lengths.find_map(|length| self.0.get_key_value(&path[..length]))?;
            found = Some(module);
            let Some(bound) = path
                .get(module.len())
                .and_then(|name| imports.bound.get(name))
            else {
                break;
            };
            path = [bound, &path[module.len() + 1..]].concat();
        }
        found
    }

    /// Every import cycle, as its folder and its members. The folder's own file is `mod`.
    pub fn circles(&self) -> BTreeSet<String> {
        let mut arrows = BTreeMap::<&[String], BTreeMap<&str, BTreeSet<&str>>>::new();
        for (from, imports) in &self.0 {
            let targets = imports.paths.iter().filter_map(|path| self.defined(path));
            for to in targets.filter(|to| *to != from) {
                let common = from
                    .iter()
                    .zip(to.iter())
                    .take_while(|(a, b)| a == b)
                    .count();
                let (one, other) = (
                    from.get(common).map_or("mod", String::as_str),
                    to.get(common).map_or("mod", String::as_str),
                );
                let folder = arrows.entry(&from[..common]).or_default();
                folder.entry(one).or_default().insert(other);
            }
        }
        let circles = arrows.iter().flat_map(|(folder, arrows)| {
            let folder = folder.join("/");
            circles(arrows)
                .into_iter()
                .map(move |circle| format!("{folder}: {}", Vec::from_iter(circle).join(" ")))
        });
        circles.collect()
    }
}

/// The sets of nodes in which each node reaches every other node (strongly connected components).
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(node) = open.pop() {
            for next in arrows.get(node).into_iter().flatten() {
                if reached.insert(*next) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = arrows.keys().map(|node| (*node, reached(node))).collect();
    let circle = |node: &&'a str| {
        let there = &reached[*node];
        let back = |other: &&&'a str| reached.get(**other).is_some_and(|it| it.contains(*node));
        there.iter().filter(back).copied().collect::<BTreeSet<_>>()
    };
    let circles = arrows.keys().map(circle);
    circles.filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::Sources;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let module = |name: &str| {
            name.split('/')
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let files = files
            .iter()
            .map(|(name, text)| (module(name), (*text).to_owned()));
        Sources::of(files).circles().into_iter().collect()
    }

    #[test]
    fn files_of_one_folder_that_import_each_other_are_a_circle() {
        let (a, b) = (
            ("r/a", "use super::b::B; struct A;"),
            ("r/b", "fn f(_: crate::r::a::A) {} struct B;"),
        );
        assert_eq!(circles(&[("r", "mod a; mod b;"), a, b]), ["r: a b"]);
        assert_eq!(
            circles(&[("r", "mod a; mod b;"), a, ("r/b", "struct B;")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_child_that_imports_from_the_file_that_calls_it_is_a_circle() {
        let child = ("r/a", "use super::Error; pub fn f() {}");
        for parent in [
            "mod a; pub struct Error; fn g() { a::f() }",
            "mod a; use a::f; pub struct Error;",
        ] {
            assert_eq!(circles(&[("r", parent), child]), ["r: a mod"]);
        }
    }

    #[test]
    fn a_reexport_counts_for_the_file_that_defines_it() {
        let child = ("r/a", "use super::Error; pub fn f() {}");
        let parent = "mod a; mod error; pub use error::Error; use a::f;";
        assert_eq!(
            circles(&[("r", parent), child, ("r/error", "pub struct Error;")]),
            Vec::<String>::new()
        );
        let passes_on = "mod a; pub struct Error; pub use a::f;";
        assert_eq!(circles(&[("r", passes_on), child]), Vec::<String>::new());
    }

    #[test]
    fn files_below_a_child_belong_to_it_and_tests_are_ignored() {
        let (a, deep) = (
            ("r/a", "use super::b::B;"),
            ("r/b/deep", "use crate::r::a::A;"),
        );
        let b = ("r/b", "mod deep; pub struct B;");
        assert_eq!(circles(&[("r", ""), a, b, deep]), ["r: a b"]);
        let test = ("r/b/deep", "#[cfg(test)] mod tests { use crate::r::a::A; }");
        assert_eq!(circles(&[("r", ""), a, b, test]), Vec::<String>::new());
    }
}
