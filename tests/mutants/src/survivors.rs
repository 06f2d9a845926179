//! Compares the surviving mutants with the list of allowed survivors.

use std::collections::BTreeMap;

/// Each name with its number of occurrences, in the list or in the run.
pub(crate) type Names = BTreeMap<String, usize>;

/// The names in the text of the list. A reason is indented, and `#` starts a comment.
pub(crate) fn listed(text: &str, files: &[String]) -> Names {
    let names = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with([' ', '#']));
    let wanted = names.filter(|name| {
        let file = name.split(':').next().unwrap_or_default();
        files.is_empty() || files.iter().any(|wanted| wanted == file)
    });
    counted(wanted.map(str::to_owned))
}

/// Counts each name.
pub(crate) fn counted(names: impl Iterator<Item = String>) -> Names {
    let mut counted = Names::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    counted
}

/// The names that occur more often in the first than in the second.
pub(crate) fn missing<'a>(of: &'a Names, from: &Names) -> Vec<&'a str> {
    let mut missing = Vec::new();
    for (name, times) in of {
        let there = from.get(name).copied().unwrap_or_default();
        missing.extend(std::iter::repeat_n(
            name.as_str(),
            times.saturating_sub(there),
        ));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_that_is_there_twice_has_to_stand_in_the_list_twice() {
        let text = "# why\n\nplan/src/a.rs: delete !\n    Harmless.\nplan/src/b.rs: delete !\n";
        let found = counted(
            [
                "plan/src/a.rs: delete !".to_owned(),
                "plan/src/a.rs: delete !".to_owned(),
            ]
            .into_iter(),
        );
        let all = listed(text, &[]);
        assert_eq!(missing(&found, &all), ["plan/src/a.rs: delete !"]);
        assert_eq!(missing(&all, &found), ["plan/src/b.rs: delete !"]);
    }

    #[test]
    fn a_run_of_some_files_is_compared_with_what_the_list_says_of_them() {
        let all = listed(
            "plan/src/a.rs: x\nplan/src/b.rs: y\n",
            &["plan/src/b.rs".to_owned()],
        );
        assert_eq!(all.into_keys().collect::<Vec<_>>(), ["plan/src/b.rs: y"]);
    }
}
