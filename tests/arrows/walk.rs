//! Finds the folders of `src` and the crates that a source file uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Token, UseTree, Visibility};

/// Collects the folders of `src` and the crates that a file uses.
pub struct Walk {
    /// The module path of the file, for example `["cloud", "ec2"]`.
    module: Vec<String>,
    pub named: BTreeSet<String>,
    pub crates: BTreeSet<String>,
}

impl Walk {
    fn path(&mut self, segments: &[String]) {
        let Some(first) = segments.first() else {
            return;
        };
        let absolute: Vec<String> = match first.as_str() {
            "crate" => segments[1..].to_vec(),
            "mooring" => {
                self.crates.insert(first.clone());
                segments[1..].to_vec()
            }
            "self" | "super" => {
                let ups = segments
                    .iter()
                    .take_while(|segment| *segment == "super")
                    .count();
                let rest = segments.iter().skip(ups.max(1));
                let depth = self.module.len().saturating_sub(ups);
                self.module[..depth].iter().chain(rest).cloned().collect()
            }
            other => {
                self.crates.insert(other.to_owned());
                return;
            }
        };
        if let Some(folder) = absolute.first() {
            self.named.insert(folder.clone());
        }
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before);
                }
            }
            UseTree::Name(name) => self.leaf(name.ident.to_string(), before),
            UseTree::Rename(rename) => self.leaf(rename.ident.to_string(), before),
            // `use crate::*` counts as a use of every folder.
            UseTree::Glob(_) => self.leaf("*".to_owned(), before),
        }
    }

    fn leaf(&mut self, last: String, before: &[String]) {
        let mut path = before.to_vec();
        path.push(last);
        self.path(&path);
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.path(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // `pub(super)` is not a call.
    }

    /// The arguments of a macro can contain paths too. They are walked if they parse as expressions.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        let arguments = Punctuated::<syn::Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(arguments) {
            for argument in &arguments {
                // The syntax tree of the macro is valid only in this call, so it is walked separately and the result is
                // merged.
                let mut inner = Walk {
                    module: self.module.clone(),
                    named: BTreeSet::new(),
                    crates: BTreeSet::new(),
                };
                inner.visit_expr(argument);
                self.named.append(&mut inner.named);
                self.crates.append(&mut inner.crates);
            }
        }
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn rust_files(under: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![under.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

pub fn module_of(file: &Path, source: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source).unwrap().with_extension("");
    let mut module: Vec<String> = relative
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        module.pop();
    }
    module
}

pub fn walk(module: Vec<String>, text: &str, name: &Path) -> Walk {
    let parsed = syn::parse_file(text)
        .unwrap_or_else(|error| panic!("{} cannot be parsed: {error}", name.display()));
    let mut walk = Walk {
        module,
        named: BTreeSet::new(),
        crates: BTreeSet::new(),
    };
    walk.visit_file(&parsed);
    walk
}
