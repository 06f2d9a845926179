//! The name of a test in `tests/faults.toml`.

use std::path::PathBuf;

use mooring_cluster::repository;

/// The meaning of a name.
pub enum Named {
    /// `e2e::module::scene`, of this binary.
    Scene,
    /// `node::promise`, of `tests/node`: it runs with each kind of rules that a CNI can have.
    Node(String),
    /// `path/to/file.rs::test`.
    Test(Test),
}

/// A test function in a file.
pub struct Test {
    /// The file.
    pub file: PathBuf,
    /// The name of the function.
    function: String,
    /// The binary that contains it: the name of the crate, and the root of the binary in its package.
    pub binary: (String, String),
    /// The modules between the root and the file.
    pub modules: String,
}

impl Named {
    pub fn parse(name: &str) -> Result<Self, String> {
        if name.starts_with("e2e::") {
            return Ok(Self::Scene);
        }
        if let Some(promise) = name.strip_prefix("node::") {
            return Ok(Self::Node(promise.to_owned()));
        }
        let (path, function) = name
            .split_once(".rs::")
            .ok_or("is neither a scene nor path/to/file.rs::test")?;
        let file = repository().join(format!("{path}.rs"));
        let package = file
            .ancestors()
            .skip(1)
            .find(|folder| folder.join("Cargo.toml").exists())
            .ok_or("lies in no package")?;
        let inside = file
            .strip_prefix(package)
            .map_err(|error| error.to_string())?;
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let (binary, modules) = match parts.as_slice() {
            ["src", modules @ ..] => {
                let manifest = std::fs::read_to_string(package.join("Cargo.toml"));
                let manifest = manifest.map_err(|error| error.to_string())?;
                let manifest: toml::Table =
                    toml::from_str(&manifest).map_err(|error| error.to_string())?;
                let name = manifest["package"]["name"].as_str().unwrap_or_default();
                ((name.replace('-', "_"), "src/lib.rs".to_owned()), modules)
            }
            ["tests", file] => {
                let name = file.trim_end_matches(".rs").to_owned();
                ((name, format!("tests/{file}")), &[][..])
            }
            ["tests", name, modules @ ..] => (
                ((*name).to_owned(), format!("tests/{name}/main.rs")),
                modules,
            ),
            _ => return Err("lies neither in src nor in tests".to_owned()),
        };
        let modules: Vec<&str> = modules
            .iter()
            .map(|part| part.trim_end_matches(".rs"))
            .filter(|part| !["mod", "main", "lib"].contains(part))
            .collect();
        let modules = modules.join("::");
        let function = function.to_owned();
        Ok(Self::Test(Test {
            file,
            function,
            binary,
            modules,
        }))
    }
}

impl Test {
    /// Has the file a function with this name and `#[test]` or `#[tokio::test]` that is not ignored?
    pub fn exists(&self) -> Result<(), String> {
        let text = std::fs::read_to_string(&self.file)
            .map_err(|error| format!("cannot be read in {}: {error}", self.file.display()))?;
        let file = syn::parse_file(&text).map_err(|error| error.to_string())?;
        if has_test(&file.items, &self.function) {
            Ok(())
        } else {
            Err("does not exist, or is ignored".to_owned())
        }
    }

    /// Is this the name in the test binary? A module within the file can precede the function.
    pub fn is_called(&self, name: &str) -> bool {
        let rest = if self.modules.is_empty() {
            Some(name)
        } else {
            name.strip_prefix(&self.modules)
                .and_then(|rest| rest.strip_prefix("::"))
        };
        rest.is_some_and(|rest| rest.rsplit("::").next() == Some(&self.function))
    }
}

fn has_test(items: &[syn::Item], name: &str) -> bool {
    items.iter().any(|item| match item {
        syn::Item::Fn(function) => {
            // Also `#[tokio::test]`.
            let marked = |mark: &str| {
                let mut paths = function.attrs.iter().map(syn::Attribute::path);
                paths.any(|path| path.segments.last().is_some_and(|last| last.ident == mark))
            };
            function.sig.ident == name && marked("test") && !marked("ignore")
        }
        syn::Item::Mod(module) => module
            .content
            .as_ref()
            .is_some_and(|(_, items)| has_test(items, name)),
        // proptest! { #[test] fn ... } is not parsed as items.
        syn::Item::Macro(call) => {
            let text = call.mac.tokens.to_string();
            text.contains(&format!("fn {name} ")) || text.contains(&format!("fn {name}("))
        }
        _ => false,
    })
}
