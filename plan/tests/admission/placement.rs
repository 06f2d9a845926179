//! Checks of the node selection and the tolerations of a pod.
//! Rule: R8.15.

use std::collections::BTreeMap;

use mooring_plan::admission::placement::{Compare, Requirement, Term, excluded_label};
use mooring_plan::admission::tolerations::{Defaults, NOT_READY, Toleration, UNREACHABLE};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}

fn rule(key: &str, compare: Compare) -> Requirement {
    Requirement {
        key: key.to_owned(),
        compare,
    }
}

fn values(values: &[&str]) -> std::collections::BTreeSet<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

#[test]
fn a_selector_for_another_value_excludes_the_node() {
    let node = labels(&[("role", "edge"), ("zone", "a")]);
    let found = |selector: &[(&str, &str)]| {
        excluded_label(&node, &labels(selector), &[]).map(|label| (label.key, label.value))
    };
    assert_eq!(found(&[("role", "edge"), ("disk", "ssd")]), None);
    let against = Some(("zone".to_owned(), "a".to_owned()));
    assert_eq!(found(&[("zone", "b")]), against);
}

#[test]
fn a_term_excludes_a_node_by_a_known_label() {
    let node = labels(&[("role", "edge")]);
    for (compare, out) in [
        (Compare::In(values(&["edge", "core"])), false),
        (Compare::In(values(&["core"])), true),
        (Compare::NotIn(values(&["edge"])), true),
        (Compare::NotIn(values(&["core"])), false),
        (Compare::Exists, false),
        (Compare::DoesNotExist, true),
        (Compare::Other, false),
    ] {
        let term = vec![rule("role", compare.clone())];
        let found = excluded_label(&node, &labels(&[]), &[term]);
        assert_eq!(found.is_some(), out, "{compare:?}");
        let of_another = vec![rule("disk", compare.clone())];
        let found = excluded_label(&node, &labels(&[]), &[of_another]);
        assert_eq!(found, None, "{compare:?} of a label that it has not");
    }
}

#[test]
fn one_matching_term_is_enough_and_must_match_completely() {
    let node = labels(&[("role", "edge")]);
    let fits: Term = vec![rule("role", Compare::Exists)];
    let other: Term = vec![
        rule("role", Compare::Exists),
        rule("role", Compare::DoesNotExist),
    ];
    let found = |terms: &[Term]| excluded_label(&node, &labels(&[]), terms).map(|label| label.key);
    assert_eq!(found(&[other.clone(), fits]), None);
    assert_eq!(found(&[other.clone(), other]), Some("role".to_owned()));
    assert_eq!(found(&[]), None);
}

#[test]
fn only_the_exact_default_toleration_is_not_of_the_user() {
    let plugins = Toleration {
        key: Some(NOT_READY),
        operator: Some("Exists"),
        value: None,
        effect: Some("NoExecute"),
        seconds: Some(300),
    };
    let of = |toleration: Toleration<'_>| toleration.is_the_plugins(Defaults::default());
    assert!(of(plugins));
    let key = Some(UNREACHABLE);
    let value = Some("");
    assert!(of(Toleration {
        key,
        value,
        ..plugins
    }));
    for own in [
        Toleration {
            key: Some("gpu"),
            ..plugins
        },
        Toleration {
            key: None,
            ..plugins
        },
        Toleration {
            operator: Some("Equal"),
            ..plugins
        },
        Toleration {
            value: Some("true"),
            ..plugins
        },
        Toleration {
            effect: Some("NoSchedule"),
            ..plugins
        },
        Toleration {
            seconds: Some(60),
            ..plugins
        },
        Toleration {
            seconds: None,
            ..plugins
        },
    ] {
        assert!(!of(own), "{own:?}");
    }
}
