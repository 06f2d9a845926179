//! Texts that users and other programs write into objects: a parsed text is written back as the same text, or the text
//! is refused.

use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use mooring::admission::PluginSettings;
use mooring::admission::pod::mutate_pod;
use mooring::api::names::{
    HANDOVER_ANNOTATION, HANDOVER_RUNNING, IP_ANNOTATION, IP_UID_ANNOTATION,
};
use mooring::api::{IpBlockSpec, read};
use mooring_plan::address::{ParseError, parse_address, parse_cidr, parse_excluded};
use mooring_plan::names::PodKey;
use mooring_plan::objects::Handover;
use mooring_plan::reason::Reason;
use serde_json::json;

use crate::review::world::snapshot;

/// The input is texts, one per line. The whole input is one more text.
pub fn annotation(data: &[u8]) {
    let whole = String::from_utf8_lossy(data);
    for text in whole.lines().take(32).chain([&*whole]) {
        addresses(text);
        names(text);
        lengths(text);
        pods(text);
    }
}

fn addresses(text: &str) {
    let sentence = |error: &ParseError| assert!(error.to_string().contains(text), "{error}");
    match parse_address(text) {
        Ok(address) => assert_eq!(address.to_string(), text),
        Err(error) => sentence(&error),
    }
    match parse_cidr(text) {
        Ok(cidr) => {
            assert_eq!(cidr.to_string(), text);
            assert_eq!(cidr.ipv4(), cidr.ipv4().trunc());
            assert_eq!(parse_excluded(text).as_ref(), Ok(&cidr));
        }
        Err(ParseError::NotCanonical { canonical, .. }) => {
            // The canonical form in the error is accepted.
            assert_eq!(parse_cidr(&canonical.to_string()), Ok(canonical));
        }
        Err(error) => {
            sentence(&error);
            let single = parse_address(text).is_ok();
            assert_eq!(
                matches!(error, ParseError::NoPrefix { .. }),
                single,
                "{text}"
            );
            assert_eq!(parse_excluded(text).is_ok(), single, "{text}");
        }
    }
}

fn names(text: &str) {
    if let Some(key) = PodKey::parse(text) {
        assert_eq!(key.to_string(), text);
        assert!(!key.namespace.as_str().is_empty() && !key.namespace.as_str().contains('/'));
    }
    if let Some(instance) = read::instance_of(text) {
        assert!(
            instance.as_str().starts_with("i-") && text.ends_with(instance.as_str()),
            "{text}"
        );
        assert!(!instance.as_str().contains('/'), "{text}");
    }
    match read::version(text) {
        Ok(version) => {
            assert_eq!(read::version(&version.to_string()).ok(), Some(version));
        }
        Err(error) => assert!(error.to_string().contains(text), "{error}"),
    }
    if let Some(reason) = Reason::from_word(text) {
        assert_eq!(reason.as_str(), text);
    }
}

fn lengths(text: &str) {
    let spec = IpBlockSpec {
        cidr: text.to_owned(),
        excluded: vec![text.to_owned()],
        failover_after: text.to_owned(),
        ..IpBlockSpec::default()
    };
    assert_eq!(spec.range().is_ok(), parse_cidr(text).is_ok(), "{text}");
    match spec.failover_after() {
        Ok(length) => {
            let whole = |number: &str| number.parse::<u64>().ok();
            let parts: Vec<_> = text.split_terminator(['h', 'm', 's']).map(whole).collect();
            let seconds = length.as_secs();
            assert!(
                !parts.contains(&None) || text.is_empty(),
                "{text} is {seconds} s"
            );
            // The toleration of a pod has whole seconds in an i64.
            assert!(
                i64::try_from(seconds).is_ok() && length.subsec_nanos() == 0,
                "{text}"
            );
            let written = IpBlockSpec {
                failover_after: format!(
                    "{}h{}m{}s",
                    seconds / 3600,
                    seconds / 60 % 60,
                    seconds % 60
                ),
                ..spec
            };
            assert_eq!(written.failover_after().ok(), Some(length), "{text}");
        }
        Err(error) => assert!(error.to_string().contains(text), "{error}"),
    }
}

/// Checks a pod that has the text in every annotation that a user can write.
fn pods(text: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "p-1", "resourceVersion": "1",
            "annotations": {IP_ANNOTATION: text, IP_UID_ANNOTATION: text, HANDOVER_ANNOTATION: text}},
        "spec": {"containers": [{"name": "main"}]},
    });
    let dynamic: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let seen = read::pod(&dynamic).unwrap();
    assert!(seen.annotated);
    assert_eq!(
        seen.ip.as_ref().map(mooring_plan::names::IpUid::as_str),
        Some(text)
    );
    assert_eq!(seen.handover == Handover::Running, text == HANDOVER_RUNNING);

    let mut asking: Pod = serde_json::from_value(object).unwrap();
    let annotations = asking.metadata.annotations.as_mut().unwrap();
    annotations.remove(HANDOVER_ANNOTATION);
    let (snapshot, settings) = (snapshot(), PluginSettings::default());
    let meant = snapshot.ip_meant(text).is_some();
    match mutate_pod(&asking, "shop", &snapshot, settings) {
        Ok(allowed) => assert!(meant && !allowed.patch.0.is_empty(), "{text}"),
        Err(denial) => {
            // The refusal does not repeat a text that cannot be a name.
            let named = text.len() > 63 || denial.what().contains(text);
            assert!(named && denial.way_out().len() > 10, "{denial}");
        }
    }
}
