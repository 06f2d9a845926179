//! Formatting and parsing of names.
#![allow(clippy::unwrap_used, missing_docs)]

use mooring_plan::cloud::{InstanceState, Reassign};
use mooring_plan::names::{BlockName, BootId, ClaimId, InterfaceId, PodKey, ResourceVersion};
use mooring_plan::outcome::Action;
use mooring_plan::step::Call;

#[test]
fn the_key_of_a_pod_survives_a_round_trip() {
    let key = PodKey::new("shop", "web-0");
    assert_eq!(key.to_string(), "shop/web-0");
    assert_eq!(PodKey::parse("shop/web-0"), Some(key));
    for text in ["", "/", "web-0", "/web-0", "shop/"] {
        assert_eq!(PodKey::parse(text), None, "{text:?}");
    }
}

#[test]
fn a_boot_is_known_only_by_a_uuid() {
    let boot = BootId::parse("1b4e28ba-2fa1-11d2-883f-0016d3cca427");
    assert!(boot.is_some());
    assert_eq!(BootId::parse("1B4E28BA-2FA1-11D2-883F-0016D3CCA427"), boot);
    assert_ne!(BootId::parse("1b4e28ba-2fa1-11d2-883f-0016d3cca428"), boot);
    for text in [
        "",
        "-",
        "boot",
        "1b4e28ba-2fa1-11d2-883f-0016d3cca42",
        "+b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "1b4e28ba-2fa1-11d2-883f-0016d3cca4270",
        "00000000-0000-0000-0000-000000000000",
    ] {
        assert_eq!(BootId::parse(text), None, "{text:?}");
    }
}

#[test]
fn the_label_of_a_block_has_its_name_under_our_domain() {
    let label = BlockName::from("office").node_label();
    assert_eq!(label, "ip.wgtwo.com.node-restriction.kubernetes.io/office");
}

#[test]
fn a_version_and_the_id_of_a_claim_are_displayed_as_their_numbers() {
    assert_eq!(ResourceVersion(42).to_string(), "42");
    // The status of an IP contains it as text.
    assert_eq!(ClaimId::from(ResourceVersion(42)).to_string(), "42");
}

#[test]
fn a_call_is_named_like_its_permission() {
    let (eni, address) = (InterfaceId::from("eni-1"), "203.0.113.7".parse().unwrap());
    let assign = Call::Assign {
        interface: eni.clone(),
        address,
        reassign: Reassign::Refuse,
    };
    let unassign = Call::Unassign {
        interface: eni.clone(),
        address,
    };
    assert_eq!(assign.action(), Action::Assign);
    assert_eq!(unassign.action(), Action::Unassign);
    for call in [assign, unassign] {
        assert_eq!((call.interface(), call.address()), (&eni, address));
    }
}

#[test]
fn a_terminating_instance_is_ending() {
    use InstanceState as S;
    for state in [S::ShuttingDown, S::Terminated, S::Stopping, S::Stopped] {
        assert!(state.is_ending(), "{state:?}");
    }
    for state in [S::Pending, S::Running] {
        assert!(!state.is_ending(), "{state:?}");
    }
}
