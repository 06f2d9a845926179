//! What was resolved when a pod was created cannot be changed while it lives.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::{accepts_silently, catalog_of, pod, rejects, warns};
use crate::admission::pod::validate_pod;
use crate::admission::{Change, Settings, Verdict};

/// A pod with these marks: annotation, resolved UID, label.
fn marked(ip: Option<&str>, uid: Option<&str>, label: Option<&str>) -> Pod {
    let mut pod = pod(json!({}), json!({}));
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.extend(ip.map(|ip| ("ip.wgtwo.com/ip".to_owned(), ip.to_owned())));
    annotations.extend(uid.map(|uid| ("ip.wgtwo.com/ip-uid".to_owned(), uid.to_owned())));
    pod.metadata.labels =
        label.map(|label| [("ip.wgtwo.com/ip".to_owned(), label.to_owned())].into());
    pod
}

type Marks<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn update(old: Marks<'_>, new: Marks<'_>) -> Verdict {
    let change = Change::Update {
        old: marked(old.0, old.1, old.2),
        new: marked(new.0, new.1, new.2),
    };
    // Nothing else is asked: not even whether the IP exists.
    validate_pod(&change, "shop", &catalog_of([], []), Settings::default())
}

const WHOLE: Marks<'_> = (Some("partner-a"), Some("uid-a"), Some("partner-a"));

#[test]
fn the_annotation_is_not_added_to_or_changed_on_a_live_pod() {
    rejects(
        update((None, None, None), (Some("partner-a"), None, None)),
        "was added to pod shop/web",
    );
    rejects(
        update((None, None, None), (Some(""), None, None)),
        "was added to pod shop/web",
    );
    rejects(
        update(WHOLE, (Some("partner-b"), WHOLE.1, WHOLE.2)),
        "from \"partner-a\" to \"partner-b\"",
    );
    // Taking it off and putting it on again is adding it.
    rejects(update((None, WHOLE.1, WHOLE.2), WHOLE), "was added");
}

#[test]
fn what_it_was_resolved_to_is_not_changed() {
    rejects(
        update((None, None, None), (None, Some("uid-a"), None)),
        "ip-uid of pod shop/web was added or changed",
    );
    rejects(
        update(WHOLE, (WHOLE.0, Some("uid-b"), WHOLE.2)),
        "was added or changed",
    );
    rejects(update(WHOLE, (WHOLE.0, None, WHOLE.2)), "was taken off");
}

#[test]
fn the_label_stays_while_the_pod_asks_for_an_address() {
    rejects(
        update(WHOLE, (WHOLE.0, WHOLE.1, None)),
        "label ip.wgtwo.com/ip of pod shop/web",
    );
    rejects(
        update(WHOLE, (WHOLE.0, WHOLE.1, Some("partner-b"))),
        "label ip.wgtwo.com/ip of pod shop/web",
    );
    // The controller puts it back.
    accepts_silently(update((WHOLE.0, WHOLE.1, None), WHOLE));
}

#[test]
fn the_annotation_may_be_removed_and_the_rest_follows() {
    accepts_silently(update(WHOLE, (None, WHOLE.1, WHOLE.2)));
    accepts_silently(update((None, WHOLE.1, WHOLE.2), (None, None, None)));
    accepts_silently(update(WHOLE, (None, None, None)));
    accepts_silently(update(WHOLE, WHOLE));
}

#[test]
fn handover_may_change() {
    let with = |handover: &str| {
        let mut pod = marked(WHOLE.0, WHOLE.1, WHOLE.2);
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert("ip.wgtwo.com/handover".to_owned(), handover.to_owned());
        Change::Update {
            old: marked(WHOLE.0, WHOLE.1, WHOLE.2),
            new: pod,
        }
    };
    let validate = |change| validate_pod(&change, "shop", &catalog_of([], []), Settings::default());
    accepts_silently(validate(with("running")));
    warns(validate(with("soon")), "counts as \"containers-ready\"");
}
