//! Pods with addresses of both families, or with IPv6 addresses alone.

use kube::api::DynamicObject;
use serde_json::json;

use super::scenes::{kernel, objects, with};
use crate::api::read::Reduced;
use crate::node::desired::{Desired, Endpoint, State, desired};
use crate::node::objects::Pod;
use crate::node::read::{self, PodAddressFields};
use crate::node::settings::NodeSettings;

/// A pod with these addresses in its status, as the node part reads it.
fn pod(addresses: &[&str]) -> Pod {
    let listed: Vec<_> = addresses.iter().map(|ip| json!({ "ip": ip })).collect();
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "pod-1", "namespace": "default", "uid": "uid-1", "labels": {"ip.wgtwo.com/ip": "ip-1"}},
        "status": {"phase": "Running", "podIP": addresses.first(), "podIPs": listed},
    });
    let reduced: Reduced<PodAddressFields> = serde_json::from_value(object).unwrap();
    let (_, pod) = read::pod(&DynamicObject::from(reduced)).unwrap();
    pod
}

/// The desired state for the pod, with or without the claim of its IP.
fn desire(pod: Pod, claimed: bool) -> Desired {
    let mut objects = with(objects(), 1, 1, false);
    objects.pods.insert("uid-1".to_owned(), pod);
    if !claimed {
        objects.ips.get_mut("ip-1").unwrap().claim = None;
    }
    desired(&objects, &kernel(), &NodeSettings::default())
}

#[test]
fn the_ipv4_address_of_a_pod_is_used_in_any_place() {
    for addresses in [["10.77.9.1", "2001:db8::1"], ["2001:db8::1", "10.77.9.1"]] {
        let programmed = desire(pod(&addresses), true);
        assert_eq!(programmed.reports["ip-1"].state, State::Programmed);
        let endpoints: Vec<_> = programmed
            .addresses
            .values()
            .map(|to| to.endpoint)
            .collect();
        assert_eq!(endpoints, [Endpoint::Pod("10.77.9.1".parse().unwrap())]);
        let waiting = desire(pod(&addresses), false);
        let closed: Vec<_> = waiting.closed.keys().map(ToString::to_string).collect();
        assert_eq!(closed, ["10.77.9.1"]);
    }
}

#[test]
fn a_pod_without_an_ipv4_address_is_unsupported_and_one_without_any_waits() {
    let report = |pod| desire(pod, true).reports["ip-1"].clone();
    let only_ipv6 = report(pod(&["2001:db8::1"]));
    assert_eq!(only_ipv6.state, State::Unsupported);
    for part in ["default/pod-1", "only IPv6", "hostNetwork"] {
        assert!(
            only_ipv6.message.contains(part),
            "{part}: {}",
            only_ipv6.message
        );
    }
    assert_eq!(report(pod(&[])).state, State::Waiting);
}
