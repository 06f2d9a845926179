//! `tests/faults.toml`: which test shows that a fault is survived. A name in it that does not exist fails.

use std::collections::BTreeMap;

use mooring_cluster::repository;

/// Every name stands for a test that exists, `e2e::module::scene` or `path/to/file.rs::test`; the error tells
/// which does not.
pub fn check(scenes: &[String]) -> Result<(), String> {
    let file = repository().join("tests/faults.toml");
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let faults: BTreeMap<String, Vec<String>> =
        toml::from_str(&text).map_err(|error| error.to_string())?;
    for (fault, tests) in &faults {
        for test in tests {
            let exists = if test.starts_with("e2e::") {
                scenes.contains(test)
            } else {
                is_test(test)
            };
            if !exists {
                return Err(format!("fault {fault}: there is no test {test}"));
            }
        }
    }
    Ok(())
}

/// Whether a file has a function of that name with `#[test]` on it that is not ignored.
fn is_test(name: &str) -> bool {
    let Some((path, function)) = name.split_once("::") else {
        return false;
    };
    let Ok(text) = std::fs::read_to_string(repository().join(path)) else {
        return false;
    };
    let Ok(file) = syn::parse_file(&text) else {
        return false;
    };
    has_test(&file.items, function)
}

fn has_test(items: &[syn::Item], name: &str) -> bool {
    items.iter().any(|item| match item {
        syn::Item::Fn(function) => {
            let marked = |mark: &str| {
                function
                    .attrs
                    .iter()
                    .any(|attribute| attribute.path().is_ident(mark))
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
