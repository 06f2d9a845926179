//! The schema validates objects while the webhook is down.

use kube::core::cel::Validator;
use serde_json::{Value, json};

use crate::schema;

fn ip(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IP", "metadata": {"name": name}, "spec": spec})
}

fn block(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPBlock", "metadata": {"name": name}, "spec": spec})
}

fn good_block() -> Value {
    json!({"cidr": "203.0.113.0/24", "subnetID": "subnet-0123456789abcdef0", "failoverAfter": "30s"})
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = schema(object["kind"].as_str().unwrap());
    let errors = Validator::new().validate(&schema, object, old);
    errors
        .err()
        .map(|e| e.iter().map(|e| e.message.clone()).collect())
        .unwrap_or_default()
}

fn accepts(object: &Value) {
    assert_eq!(errors(object, None), Vec::<String>::new(), "{object}");
}

fn rejects(object: &Value, sentence_part: &str) {
    let errors = errors(object, None);
    assert!(
        errors.iter().any(|s| s.contains(sentence_part)),
        "{object}: {errors:?}"
    );
}

#[test]
fn an_ip_needs_an_address_or_a_block_and_its_address_is_canonical_ipv4() {
    accepts(&ip("partner-a", &json!({"address": "203.0.113.7"})));
    accepts(&ip("partner-a", &json!({"block": "office"})));
    rejects(
        &ip("partner-a", &json!({"reassign": true})),
        "give an address, or a block",
    );
    for text in ["203.0.113.07", "203.0.113.7/32", "partner", "203.0.113"] {
        rejects(
            &ip("partner-a", &json!({"address": text})),
            "must be an IPv4 address in canonical form",
        );
    }
    rejects(
        &ip("partner-a", &json!({"address": "2001:db8::1"})),
        "IPv6 is not supported yet",
    );
}

#[test]
fn a_name_that_is_an_address_equals_the_address() {
    accepts(&ip("203.0.113.7", &json!({"address": "203.0.113.7"})));
    rejects(
        &ip("203.0.113.8", &json!({"address": "203.0.113.7"})),
        "must equal spec.address",
    );
    rejects(
        &ip("203.0.113.8", &json!({"block": "office"})),
        "must equal spec.address",
    );
}

#[test]
fn names_are_valid_label_values() {
    let long = "a".repeat(64);
    accepts(&ip(&long[..63], &json!({"block": "office"})));
    rejects(
        &ip(&long, &json!({"block": "office"})),
        "at most 63 characters",
    );
    rejects(&block(&long, &good_block()), "at most 63 characters");
}

#[test]
fn a_block_is_a_canonical_ipv4_cidr() {
    accepts(&block("office", &good_block()));
    let given = |cidr: &str| block("office", &with(good_block(), "cidr", json!(cidr)));
    rejects(&given("203.0.113.5/24"), "write 203.0.113.0/24");
    rejects(&given("203.0.113.5"), "write 203.0.113.5/32");
    rejects(&given("office"), "must be an IPv4 CIDR");
    rejects(
        &block(
            "office",
            &with(good_block(), "cidr", json!("2001:db8::/64")),
        ),
        "IPv6 is not supported yet",
    );
    accepts(&block(
        "office",
        &with(
            good_block(),
            "excluded",
            json!(["203.0.113.9", "203.0.113.16/28"]),
        ),
    ));
    rejects(
        &block(
            "office",
            &with(good_block(), "excluded", json!(["203.0.113.9/28"])),
        ),
        "each must be",
    );
    rejects(
        &block(
            "office",
            &with(good_block(), "excluded", json!(["2001:db8::1"])),
        ),
        "each must be",
    );
}

#[test]
fn the_subnet_is_well_formed_and_immutable() {
    rejects(
        &block("office", &with(good_block(), "subnetID", json!("subnet-1"))),
        "must be the id of a subnet",
    );
    let old = block("office", &good_block());
    let new = block(
        "office",
        &with(good_block(), "subnetID", json!("subnet-0123456789abcdef1")),
    );
    assert!(
        errors(&new, Some(&old))
            .iter()
            .any(|s| s.contains("cannot be changed"))
    );
    assert!(errors(&old, Some(&old)).is_empty());
}

#[test]
fn failover_after_is_a_duration() {
    for text in ["30s", "1m30s", "0s", "24h"] {
        accepts(&block(
            "office",
            &with(good_block(), "failoverAfter", json!(text)),
        ));
    }
    for text in ["30", "", "-1s", "1.5s", "half an hour"] {
        rejects(
            &block("office", &with(good_block(), "failoverAfter", json!(text))),
            "must be a length of time",
        );
    }
    for text in ["25h", "86401s", "100000s", "999999h"] {
        rejects(
            &block("office", &with(good_block(), "failoverAfter", json!(text))),
            "not be longer than 24h",
        );
    }
}

#[test]
fn a_probe_has_a_target_with_a_port_and_an_interval_between_five_seconds_and_an_hour() {
    let given = |target: &str, interval: &str| {
        let node = json!({
            "routes": [{"to": "198.51.100.0/24"}], "probe": {"target": target, "interval": interval},
        });
        block("office", &with(good_block(), "node", node))
    };
    for (target, interval) in [
        ("198.51.100.7:7000", "30s"),
        ("echo.partner.example:65535", "5s"),
        ("198.51.100.7:1", "1h"),
    ] {
        accepts(&given(target, interval));
    }
    for target in ["198.51.100.7", ":7000", "-a:7000", "a b:7000", "a:", "a:7x"] {
        rejects(&given(target, "30s"), "must be host:port");
    }
    for target in ["198.51.100.7:0", "198.51.100.7:65536"] {
        rejects(&given(target, "30s"), "between 1 and 65535");
    }
    for interval in ["4s", "0s", "61m", "100000s"] {
        rejects(&given("a:7000", interval), "between 5s and 1h");
    }
    for interval in ["30", "", "soon", "1.5s"] {
        rejects(&given("a:7000", interval), "must be a length of time");
    }
}

#[test]
fn an_allowed_namespace_is_a_valid_namespace_name() {
    let of_ip = |names: Value| {
        ip(
            "web",
            &json!({"block": "office", "allowedNamespaces": names}),
        )
    };
    let of_block = |names: Value| block("office", &with(good_block(), "allowedNamespaces", names));
    for names in [
        json!([]),
        json!(["*"]),
        json!(["default"]),
        json!(["a", "a-1"]),
    ] {
        accepts(&of_ip(names.clone()));
        accepts(&of_block(names));
    }
    for name in ["Default", "**", "a*", "a_b", "-a", "a-", "a.b"] {
        for object in [of_ip(json!(["a", name])), of_block(json!(["a", name]))] {
            rejects(&object, "each must be a namespace's name");
        }
    }
}

#[test]
fn a_node_selector_has_valid_labels_and_none_of_ours() {
    let chosen = |key: &str, value: &str| {
        let selector = json!({"matchLabels": {"zone": "a", key: value}});
        block("office", &with(good_block(), "nodeSelector", selector))
    };
    accepts(&chosen("role", "edge"));
    accepts(&chosen("node-role.kubernetes.io/edge", ""));
    for key in [
        "ip.wgtwo.com.node-restriction.kubernetes.io/office",
        "ip.wgtwo.com/ip",
    ] {
        rejects(&chosen(key, ""), "by labels of your own");
    }
    for value in ["a b", "-a", "a_"] {
        rejects(&chosen("role", value), "each value must be a label's");
    }
}
