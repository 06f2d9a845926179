//! An `IP` whose status cannot be read.

use mooring_plan::names::{IpName, ResourceVersion};
use mooring_plan::objects::UnreadableReport;
use serde_json::{Value, json};

use super::{an_ip, at};
use crate::api::read::{ip, unreadable_ip, unreadable_ip_patch};

fn with(status: &Value) -> kube::core::DynamicObject {
    an_ip(&json!({"address": "203.0.113.10"}), status)
}

#[test]
fn an_unreadable_ip_gets_a_condition_and_the_rest_is_kept() {
    let theirs = json!({"type": "Theirs", "status": "True", "reason": "Fine", "message": "",
        "lastTransitionTime": "1970-01-01T00:00:01Z"});
    let status = json!({"address": "garbage", "claimed": true, "conditions": [theirs, "nonsense"]});
    let broken = with(&status);
    assert!(ip(&broken).is_err());
    let known = unreadable_ip(&broken, "it is garbage".to_owned()).unwrap();
    assert_eq!(known.name, IpName::from("partner-a"));
    assert_eq!(known.version, ResourceVersion(42));
    assert_eq!(
        (known.problem.as_str(), known.report),
        ("it is garbage", UnreadableReport::Nothing)
    );

    let patch = unreadable_ip_patch(&broken, "correct it", &at(7)).unwrap();
    let reported = json!({"type": "Ready", "status": "False", "reason": "Invalid", "message": "correct it",
        "observedGeneration": 3, "lastTransitionTime": "1970-01-01T00:00:07Z"});
    assert_eq!(patch, json!({"status": {"conditions": [theirs, reported]}}));

    // The state after the report. An equal report changes nothing.
    let after = with(&json!({"address": "garbage", "conditions": [theirs, reported]}));
    let known = unreadable_ip(&after, String::new()).unwrap();
    assert_eq!(
        known.report,
        UnreadableReport::Unreadable("correct it".to_owned())
    );
    assert_eq!(
        unreadable_ip_patch(&after, "correct it", &at(9)),
        Some(patch)
    );
}

#[test]
fn a_status_that_is_not_an_object_is_kept() {
    let broken = with(&json!("a text"));
    assert!(ip(&broken).is_err());
    assert_eq!(
        unreadable_ip(&broken, String::new()).unwrap().report,
        UnreadableReport::NotWritable
    );
    assert_eq!(unreadable_ip_patch(&broken, "correct it", &at(7)), None);
}
