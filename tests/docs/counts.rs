//! The counts in `docs/design/reliability.md` match the planted bugs and the configurations of the model.

use crate::{files_below, read};

/// The text after `label` in the head of a patch.
fn line<'a>(head: &'a str, label: &str) -> &'a str {
    let mut lines = head.lines();
    lines
        .find_map(|line| line.strip_prefix(label))
        .unwrap_or_default()
}

/// The text of a patch before the diff.
fn head(patch: &str) -> &str {
    patch.split("\ndiff ").next().unwrap()
}

#[test]
fn planted_bugs_are_counted_by_the_checkers_that_find_them() {
    let (mut all, mut model, mut simulation, mut replay, mut only_model) = (0, 0, 0, 0, 0);
    for (name, path) in files_below("tests/planted-bugs") {
        let patch = std::fs::read_to_string(path).unwrap();
        let caught = line(head(&patch), "Caught by: ");
        let by = |checker: &str| {
            caught
                .split(", ")
                .any(|word| word.split(' ').next() == Some(checker))
        };
        assert!(by("model") || by("simulation") || by("replay"), "{name}");
        all += 1;
        model += usize::from(by("model"));
        simulation += usize::from(by("simulation"));
        replay += usize::from(by("replay"));
        only_model += usize::from(by("model") && !by("simulation") && !by("replay"));
    }
    let counts = format!(
        "Of {all} planted bugs the model finds {model}, the simulation {simulation} and replay {replay}; of {only_model} \
         the patch names the model only."
    );
    let page = read("docs/design/reliability.md").replace('\n', " ");
    assert!(
        page.contains(&counts),
        "docs/design/reliability.md: {counts}"
    );
}

#[test]
fn the_configurations_of_the_model_are_counted() {
    let code = read("tests/model/src/configurations/mod.rs");
    let (_, all) = code.split_once("pub const ALL: [Named; ").unwrap();
    let (all, _) = all.split_once(']').unwrap();
    let count = format!("There are {all} now");
    let page = read("docs/design/reliability.md");
    assert!(page.contains(&count), "docs/design/reliability.md: {count}");
}
