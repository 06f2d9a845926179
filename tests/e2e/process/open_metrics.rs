//! Parses the metrics of the process, and checks that they are well-formed.

use std::collections::{BTreeMap, BTreeSet};

/// Parses a text in `OpenMetrics` format and checks every line. Returns the metric families with their types.
pub fn families(text: &str) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    let mut helped = BTreeSet::new();
    assert!(
        text.ends_with("# EOF\n"),
        "it does not end as OpenMetrics does"
    );
    for line in text.trim_end().trim_end_matches("# EOF").lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("HELP has words");
            assert!(words.ends_with('.') && words.len() > 10, "{line}");
            helped.insert(name.to_owned());
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("TYPE has a type");
            assert!(
                types.insert(name.to_owned(), kind.to_owned()).is_none(),
                "twice: {line}"
            );
        } else if !line.starts_with("# UNIT ") {
            sample(line, &types);
        }
    }
    for name in types.keys() {
        assert!(helped.contains(name), "{name} has no HELP");
    }
    types
}

/// Checks one sample: the name of a declared family, labels, a number.
fn sample(line: &str, types: &BTreeMap<String, String>) {
    let (series, value) = line
        .rsplit_once(' ')
        .unwrap_or_else(|| panic!("no sample: {line}"));
    assert!(value.parse::<f64>().is_ok(), "no number: {line}");
    let name = series.split('{').next().unwrap();
    let family = types.iter().find(|(family, kind)| {
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        suffixes
            .iter()
            .any(|suffix| name == format!("{family}{suffix}"))
    });
    assert!(family.is_some(), "{line} belongs to no family");
    assert!(name.starts_with("mooring_"), "{line}");
    if let Some(labels) = series
        .strip_prefix(name)
        .filter(|labels| !labels.is_empty())
    {
        let inner = labels
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        for pair in inner.unwrap_or_else(|| panic!("{line}")).split("\",") {
            let (key, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(key.chars().all(plain) && !value.is_empty(), "{line}");
        }
    }
}
