//! What may be changed on a pod that lives.

use mooring_plan::admission::Because::{Forbidden, Invalid};
use mooring_plan::admission::pod::{Marks, check_annotations, check_update};

use super::refused;

/// A pod that came through admission and asks for "partner".
const ASKING: Marks<'static> = Marks {
    ip: Some("partner"),
    ip_uid: Some("uid-1"),
    label: Some("partner"),
};

const NONE: Marks<'static> = Marks {
    ip: None,
    ip_uid: None,
    label: None,
};

fn denied(before: Marks<'_>, after: Marks<'_>, words: &str) {
    let denial = refused(
        check_update(&"shop/web-0", before, after),
        Forbidden,
        &["shop/web-0", words],
    );
    assert!(!denial.is_hearsay(), "the request alone says so");
}

fn allowed(before: Marks<'_>, after: Marks<'_>) {
    assert_eq!(check_update(&"shop/web-0", before, after), Ok(()));
}

#[test]
fn a_pod_that_lives_neither_begins_to_ask_nor_asks_for_another() {
    let asks = Marks {
        ip: ASKING.ip,
        ..NONE
    };
    denied(NONE, asks, "was added");
    let other = Marks {
        ip: Some("other"),
        ..ASKING
    };
    denied(ASKING, other, "from \"partner\" to \"other\"");
    allowed(ASKING, ASKING);
    allowed(NONE, NONE);
}

#[test]
fn a_pod_may_give_its_address_back_and_what_we_wrote_goes_after_that() {
    let given_back = Marks { ip: None, ..ASKING };
    allowed(ASKING, given_back);
    allowed(given_back, NONE);
    allowed(ASKING, NONE);
    let without_label = Marks {
        label: None,
        ..given_back
    };
    allowed(given_back, without_label);
}

#[test]
fn which_ip_was_meant_is_not_rewritten() {
    let words = "ip-uid of pod shop/web-0 was added or changed";
    let other = Marks {
        ip_uid: Some("uid-2"),
        ..ASKING
    };
    denied(ASKING, other, words);
    let never = Marks {
        ip_uid: None,
        ..ASKING
    };
    denied(never, ASKING, words);
    denied(ASKING, never, "was taken off pod shop/web-0");
    // One that was stored without it, before the webhook was there.
    allowed(never, never);
}

#[test]
fn the_label_stays_while_the_pod_asks() {
    for label in [None, Some("other")] {
        let after = Marks { label, ..ASKING };
        denied(ASKING, after, "label ip.wgtwo.com/ip");
    }
    // Without it the pod is not seen at all: it may be put on again.
    let unlabelled = Marks {
        label: None,
        ..ASKING
    };
    allowed(unlabelled, ASKING);
}

#[test]
fn an_annotation_that_is_meant_for_us_and_not_known_is_refused_with_what_was_meant() {
    let check = |key: &'static str| check_annotations(["example.com/ip", key]);
    for (key, meant) in [
        ("ip.wgtwo.com/IP", "ip"),
        ("ip.wgtwo.com/Ip", "ip"),
        ("IP.wgtwo.com/ip", "ip"),
        ("ip.wgtwo.com/i-p", "ip"),
        ("ip.wgtwo.com/hand-over", "handover"),
        ("ip.wgtwo.com/handOver", "handover"),
    ] {
        let denial = refused(check(key), Invalid, &[]);
        let said = format!("annotation {key} is not known: did you mean ip.wgtwo.com/{meant}?");
        assert_eq!(denial.to_string(), said);
        assert!(!denial.is_hearsay(), "the request alone says so");
    }
    for key in [
        "ip.wgtwo.com/address",
        "ip.wgtwo.com/take-from",
        "ip.wgtwo.com/",
        "IP.WGTWO.COM/ip-uid",
        "ip.wgtwo.com/\u{131}p",
    ] {
        refused(check(key), Invalid, &[key, "use ip.wgtwo.com/ip or"]);
    }
    for key in [
        "ip.wgtwo.com/ip",
        "ip.wgtwo.com/ip-uid",
        "ip.wgtwo.com/handover",
        "ip.wgtwo.com/denied-at",
        "block.ip.wgtwo.com/IP",
        "ip.wgtwo.comx/IP",
        "ip.wgtwo.com",
        "\u{1f6a2}\u{1f6a2}\u{1f6a2}\u{1f6a2}",
        "",
    ] {
        assert_eq!(check(key), Ok(()), "{key}");
    }
}
