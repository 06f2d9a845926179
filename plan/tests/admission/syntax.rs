//! Checks of the syntax of names in a spec or an annotation.
//! Rules: R8.16, R8.18.

use std::collections::BTreeMap;

use mooring_plan::admission::Denial;
use mooring_plan::admission::DenyReason::Invalid;
use mooring_plan::admission::syntax::{check_namespaces, check_node_labels, check_take_from};
use mooring_plan::names::BlockName;

use super::refused;

fn of_ip(names: &[&str]) -> Result<(), Denial> {
    check_namespaces(&"IP \"partner\"", names.iter().copied())
}

#[test]
fn an_invalid_namespace_is_refused_with_a_suggestion() {
    let long = "a".repeat(64);
    for (name, way_out) in [
        ("Default", "write \"default\""),
        (" shop", "write \"shop\""),
        ("**", "or \"*\" for all"),
        ("shop_a", "kubectl get namespaces"),
        ("shop.a", "kubectl get namespaces"),
        ("-shop", "kubectl get namespaces"),
        ("shop-", "kubectl get namespaces"),
        ("", "kubectl get namespaces"),
        (&long, "kubectl get namespaces"),
    ] {
        let quoted = format!("spec.allowedNamespaces of IP \"partner\" has \"{name}\"");
        let denial = refused(of_ip(&["shop", name]), Invalid, &[&quoted, way_out]);
        assert!(!denial.is_from_cache(), "the request alone decides");
    }
    for name in ["*", "default", "s", "0", "a-1", &long[..63]] {
        assert_eq!(of_ip(&[name]), Ok(()), "{name}");
    }
    assert_eq!(of_ip(&[]), Ok(()));
}

fn label(key: &str, value: &str) -> Result<(), Denial> {
    let labels = [("zone", "a"), (key, value)].map(|(k, v)| (k.to_owned(), v.to_owned()));
    check_node_labels(&BlockName::from("office"), &BTreeMap::from(labels))
}

#[test]
fn a_node_selector_has_only_valid_labels() {
    let (name, part) = ("a".repeat(63), format!("{}.", "a".repeat(50)));
    let prefix = format!("{}a", part.repeat(4));
    for (key, value) in [
        ("role", "edge"),
        ("role", ""),
        ("Role_1.x", "Edge_1.x"),
        ("node-role.kubernetes.io/edge", ""),
        (name.as_str(), name.as_str()),
        (format!("{prefix}/{name}").as_str(), "a"),
        // Only the whole prefix has a maximum length, not each part (Kubernetes, IsDNS1123Subdomain).
        (format!("{name}a/role").as_str(), "a"),
        ("notip.wgtwo.com/role", "edge"),
    ] {
        assert_eq!(label(key, value), Ok(()), "{key}={value}");
    }
    let start = "spec.nodeSelector of IPBlock \"office\" has ";
    let too_long = format!("{name}a");
    for key in [
        "",
        "a b",
        "-a",
        "a.",
        "/a",
        "a/",
        "a/b/c",
        "Upper.example/a",
        "a..b/c",
        too_long.as_str(),
        format!("{}a/a", part.repeat(5)).as_str(),
    ] {
        let words = format!("{start}the key \"{key}\", which is not a valid label key");
        refused(label(key, "x"), Invalid, &[&words]);
    }
    for value in ["a b", "-a", "a_", "a/b", too_long.as_str()] {
        let words = format!("{start}role: \"{value}\", which is not a valid label value");
        refused(label("role", value), Invalid, &[&words]);
    }
}

#[test]
fn a_node_selector_has_no_label_of_mooring() {
    for key in [
        "ip.wgtwo.com.node-restriction.kubernetes.io/office",
        "ip.wgtwo.com/ip",
        "other.ip.wgtwo.com/x",
    ] {
        let words = [key, "Mooring manages", "leave spec.nodeSelector out"];
        let denial = refused(label(key, ""), Invalid, &words);
        assert!(!denial.is_from_cache(), "the request alone decides");
    }
}

#[test]
fn take_from_names_a_network_interface() {
    let check = |given: &str| check_take_from(&"IP \"partner\"", given);
    for id in ["eni-0123456789abcdef0", "eni-0123abcd"] {
        assert_eq!(check(id), Ok(()), "{id}");
    }
    for given in [
        "yes",
        "",
        "true",
        "eni-",
        "eni-0123456789abcdef",
        "eni-0123456789ABCDEF0",
        "eni-0123456789abcdefg",
        " eni-0123abcd",
        "i-0123456789abcdef0",
    ] {
        let quoted = format!("ip.wgtwo.com/take-from of IP \"partner\" is \"{given}\"");
        let denial = refused(check(given), Invalid, &[&quoted, "such as eni-"]);
        assert!(!denial.is_from_cache(), "the request alone decides");
    }
}
