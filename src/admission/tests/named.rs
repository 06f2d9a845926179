//! Impossible values are refused where they are new. Earlier values are accepted.
//! Rules: R8.16, R8.17.

use serde_json::{Value, json};

use super::pod_create::mutate;
use super::{accepts, accepts_silently, block, held, ip, office, pod, rejects, warns};
use crate::admission::ip::validate_ip;
use crate::admission::ipblock::validate_ipblock;
use crate::admission::pod::validate_pod;
use crate::admission::{Allowed, Operation, PluginSettings, Verdict};
use crate::api::{Ip, IpBlock};

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The verdicts on three requests: a new object with this value, an update to this value, and another update of an
/// object that has this value already.
pub fn verdicts<T: Clone>(
    plain: &T,
    change: impl Fn(&mut T),
    later: impl Fn(&mut T),
    validate: impl Fn(&Operation<T>) -> Verdict,
) -> (Verdict, Verdict, Verdict) {
    let changed = |object: &T, change: &dyn Fn(&mut T)| {
        let mut object = object.clone();
        change(&mut object);
        object
    };
    let update = |old: &T, new: &T| Operation::Update {
        old: old.clone(),
        new: new.clone(),
    };
    let so = changed(plain, &change);
    let later = changed(&so, &later);
    let create = validate(&Operation::Create(so.clone()));
    (
        create,
        validate(&update(plain, &so)),
        validate(&update(&so, &later)),
    )
}

fn of_ip(change: impl Fn(&mut Ip)) -> (Verdict, Verdict, Verdict) {
    let spec = json!({"address": "203.0.113.8"});
    let plain = ip("partner-b", "uid-b", spec, Value::Null);
    let later = |ip: &mut Ip| ip.spec.reassign = true;
    verdicts(&plain, change, later, |operation| {
        validate_ip(operation, &office())
    })
}

pub fn of_block(change: impl Fn(&mut IpBlock)) -> (Verdict, Verdict, Verdict) {
    let plain = block("home", "198.51.100.0/24");
    let later = |block: &mut IpBlock| block.spec.failover_after = "60s".to_owned();
    verdicts(&plain, change, later, |operation| {
        validate_ipblock(operation, &office())
    })
}

#[track_caller]
pub fn refused_when_it_is_new((create, edit, later): (Verdict, Verdict, Verdict), words: &str) {
    rejects(create, words);
    rejects(edit, words);
    // The value was written before this check existed.
    accepts(later);
}

#[test]
fn an_invalid_namespace_name_is_refused() {
    let wrong = Some(named(&["shop", "Default"]));
    refused_when_it_is_new(
        of_ip(|ip| ip.spec.allowed_namespaces.clone_from(&wrong)),
        "spec.allowedNamespaces of IP \"partner-b\" has \"Default\", which is not a valid namespace name",
    );
    refused_when_it_is_new(
        of_block(|block| block.spec.allowed_namespaces.clone_from(&wrong)),
        "spec.allowedNamespaces of IPBlock \"home\" has \"Default\"",
    );
    let right = Some(named(&["shop", "default"]));
    let (create, edit, _) = of_ip(|ip| ip.spec.allowed_namespaces.clone_from(&right));
    accepts_silently(create);
    accepts_silently(edit);
}

#[test]
fn a_node_selector_needs_valid_labels_that_are_not_ours() {
    let chosen = |key: &str, value: &str| {
        let selector = json!({"matchLabels": {"zone": "a", key: value}});
        of_block(move |block| block.spec.node_selector = Some(super::read(selector.clone())))
    };
    refused_when_it_is_new(
        chosen("a b", "x"),
        "the key \"a b\", which is not a valid label key",
    );
    refused_when_it_is_new(
        chosen("role", "a b"),
        "role: \"a b\", which is not a valid label value",
    );
    refused_when_it_is_new(
        chosen("ip.wgtwo.com.node-restriction.kubernetes.io/home", ""),
        "ip.wgtwo.com.node-restriction.kubernetes.io/home, which Mooring manages",
    );
    let (create, edit, _) = chosen("role", "edge");
    accepts_silently(create);
    accepts_silently(edit);
}

fn taking(interface: &str) -> impl Fn(&mut Ip) {
    move |ip| {
        let annotations = ip.metadata.annotations.get_or_insert_default();
        let key = "ip.wgtwo.com/take-from".to_owned();
        annotations.insert(key, interface.to_owned());
    }
}

#[test]
fn take_from_names_an_interface() {
    for wrong in ["yes", ""] {
        refused_when_it_is_new(
            of_ip(taking(wrong)),
            &format!("annotation ip.wgtwo.com/take-from of IP \"partner-b\" is \"{wrong}\""),
        );
    }
    let (create, edit, _) = of_ip(taking("eni-0123456789abcdef0"));
    accepts_silently(create);
    accepts_silently(edit);
    // The controller removes a used annotation, even if its value would be refused now.
    let mut old = held("203.0.113.7");
    let new = old.clone();
    taking("yes")(&mut old);
    accepts_silently(validate_ip(&Operation::Update { old, new }, &office()));
}

/// The verdicts of both webhooks on a new pod with these annotations.
#[track_caller]
fn new_pod(annotations: Value) -> [Verdict; 2] {
    let pod = pod(annotations, json!({}));
    let settings = PluginSettings::default();
    let mutated = mutate(&pod, &office());
    [mutated, validate_pod(&pod, "shop", &office(), settings)]
}

#[test]
fn a_similar_annotation_is_refused_with_the_right_one() {
    let expected = "annotation ip.wgtwo.com/IP is not known: did you mean ip.wgtwo.com/ip?";
    for verdict in new_pod(json!({"ip.wgtwo.com/IP": "partner-a"})) {
        assert_eq!(rejects(verdict, "is not known"), expected);
    }
    // The same if the right annotation is there too.
    let both = json!({"ip.wgtwo.com/ip": "partner-a", "ip.wgtwo.com/hand-over": "running"});
    for verdict in new_pod(both) {
        rejects(verdict, "did you mean ip.wgtwo.com/handover?");
    }
    for verdict in
        new_pod(json!({"example.com/IP": "partner-a", "ip.wgtwo.com/handover": "running"}))
    {
        assert_eq!(accepts(verdict), Allowed::silently());
    }
}

#[test]
fn no_allowed_namespace_gives_a_warning() {
    for none in [None, Some(Vec::new())] {
        let (create, _, _) = of_ip(|ip| ip.spec.allowed_namespaces.clone_from(&none));
        warns(create, "no pod may have IP \"partner-b\": list namespaces");
        let (create, _, _) = of_block(|block| block.spec.allowed_namespaces.clone_from(&none));
        warns(create, "no pod may have an address of IPBlock \"home\"");
    }
}

#[test]
fn a_probe_whose_target_never_sees_the_address_is_refused() {
    let probed = |target: &str| {
        of_block(|block| {
            block.spec.node = Some(super::read(json!({
                "routes": [{"to": "203.0.113.0/24"}], "probe": {"target": target},
            })));
        })
    };
    let (create, edit, _) = probed("203.0.113.7:7000");
    assert!(create.is_ok() && edit.is_ok(), "{create:?} {edit:?}");
    refused_when_it_is_new(
        probed("192.0.2.7:7000"),
        "probe.target 192.0.2.7 is in no route, so that no packet to it leaves with the address: add a route",
    );
    refused_when_it_is_new(
        probed("10.1.2.3:7000"),
        "probe.target 10.1.2.3 is within the internal network 10.0.0.0/8",
    );
}
