//! Every rule of the protocol has a unique id, and code or tests cite it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{files_below, prose, read};

#[test]
fn the_rules_of_the_protocol_are_numbered_in_sequence() {
    let protocol = read("docs/design/protocol.md");
    let mut section = 0;
    let mut rule = 0;
    for (number, line) in prose(&protocol) {
        if let Some(heading) = line.strip_prefix("## ") {
            section += 1;
            rule = 0;
            assert!(heading.starts_with(&format!("{section}. ")), "{heading}");
        }
        let begins = line
            .strip_prefix("- **R")
            .or_else(|| line.strip_prefix("| **R"));
        if let Some(rest) = begins {
            rule += 1;
            let wanted = format!("{section}.{rule}**");
            assert!(
                rest.starts_with(&wanted),
                "line {number}: R{wanted} is next"
            );
        } else {
            let top = line.starts_with("- ") && section > 0;
            assert!(!top, "line {number} is a rule without an id: {line}");
        }
    }
    assert_eq!(section, 8);
}

/// Rules that neither code nor tests can cite, each with the reason.
const NOT_CITED: [(&str, &str); 1] = [(
    "R3.28",
    "it says what follows from Kubernetes: nothing creates the next pod, so there is no case to decide",
)];

/// A rule, as section and number.
type Rule = (u32, u32);

/// The rule ids in a text (such as `R2.6`), in order, with their positions.
fn ids(text: &str) -> Vec<(usize, Rule)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('R') {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &text[at + 1..];
        let Some((section, rest)) = rest.split_once('.') else {
            continue;
        };
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if let (Ok(section), Ok(rule)) = (section.parse(), rest[..digits].parse()) {
            found.push((at, (section, rule)));
        }
    }
    found
}

/// The rules that a text cites. `R2.4 to R2.6` cites three rules.
fn cited(text: &str) -> BTreeSet<Rule> {
    let ids = ids(text);
    let mut rules: BTreeSet<_> = ids.iter().map(|(_, rule)| *rule).collect();
    for pair in ids.windows(2) {
        let [(begin, first), (end, last)] = pair else {
            continue;
        };
        let written = format!("R{}.{} to ", first.0, first.1);
        if text[*begin..*end] == written && first.0 == last.0 {
            rules.extend((first.1..=last.1).map(|rule| (first.0, rule)));
        }
    }
    rules
}

fn name((section, rule): Rule) -> String {
    format!("R{section}.{rule}")
}

/// The rules of the protocol.
fn rules() -> BTreeSet<Rule> {
    let protocol = read("docs/design/protocol.md");
    let begins = |line: &str| line.starts_with("- **R") || line.starts_with("| **R");
    prose(&protocol)
        .filter(|(_, line)| begins(line))
        .filter_map(|(_, line)| ids(line).first().map(|(_, rule)| *rule))
        .collect()
}

/// The rules that code, tests, manifests and planted bugs cite, each with the files that cite it.
fn citations() -> BTreeMap<Rule, Vec<String>> {
    let mut citations: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for (name, path) in ["plan", "src", "config", "tests"]
        .into_iter()
        .flat_map(files_below)
    {
        let kind = path.extension().and_then(|kind| kind.to_str());
        let is_source = kind.is_some_and(|kind| ["rs", "yaml", "patch"].contains(&kind));
        if !is_source || name.starts_with("tests/docs/") || name.contains("/target/") {
            continue;
        }
        for rule in cited(&std::fs::read_to_string(path).unwrap()) {
            citations.entry(rule).or_default().push(name.clone());
        }
    }
    citations
}

#[test]
fn every_rule_that_is_cited_exists() {
    let rules = rules();
    assert!(rules.len() > 200, "{}", rules.len());
    let wrong: Vec<_> = citations()
        .into_iter()
        .filter(|(rule, _)| !rules.contains(rule))
        .map(|(rule, files)| format!("{} in {files:?}", name(rule)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_rule_is_cited_by_code_or_tests() {
    let citations = citations();
    let excepted: BTreeSet<_> = NOT_CITED.iter().map(|(rule, _)| *rule).collect();
    let mut wrong: Vec<_> = rules()
        .into_iter()
        .filter(|rule| citations.contains_key(rule) == excepted.contains(name(*rule).as_str()))
        .map(name)
        .collect();
    wrong.extend(
        NOT_CITED
            .iter()
            .filter(|(_, why)| why.is_empty())
            .map(|(rule, _)| (*rule).to_owned()),
    );
    assert!(
        wrong.is_empty(),
        "not cited, or cited although excepted: {wrong:#?}"
    );
}

#[test]
fn a_range_of_rules_cites_all_of_them() {
    let all = cited("R2.4 to R2.6, R3.1 (see R3.4) and R10.2. No rule: xR1.1, R4, R5.x");
    let all: Vec<_> = all.into_iter().map(name).collect();
    assert_eq!(all, ["R2.4", "R2.5", "R2.6", "R3.1", "R3.4", "R10.2"]);
}
