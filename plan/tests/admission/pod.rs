//! Checks of the annotations of a new pod.
//! Rule: R8.3.

use mooring_plan::admission::DenyReason::Invalid;
use mooring_plan::admission::pod::check_annotations;

use super::refused;

#[test]
fn an_unknown_annotation_of_ours_is_refused_with_the_right_one() {
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
        let expected = format!("annotation {key} is not known: did you mean ip.wgtwo.com/{meant}?");
        assert_eq!(denial.to_string(), expected);
        assert!(!denial.is_from_cache(), "the request alone decides");
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
