//! What may be changed on a pod that has, or had, an address.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{Because, Denial};

/// What of a pod's metadata is ours to guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marks<'a> {
    /// The annotation that asks for an IP.
    pub ip: Option<&'a str>,
    /// The annotation that says which IP it was resolved to.
    pub ip_uid: Option<&'a str>,
    /// The label.
    pub label: Option<&'a str>,
}

/// The prefix of annotations that are meant for Mooring.
const PREFIX: &str = "ip.wgtwo.com/";
/// What a user may write behind it on a pod.
const WRITTEN: [&str; 2] = ["ip", "handover"];
/// What Mooring writes there; a pod that is created from another's manifest may have it.
const OURS: [&str; 2] = ["ip-uid", "denied-at"];

/// Whether all of a new pod's annotations that are meant for Mooring are known: one that is spelled otherwise would be
/// passed over, and the pod would run without its address.
///
/// # Errors
/// The first that is not known.
pub fn check_annotations<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<(), Denial> {
    for key in keys {
        let prefix = key.get(..PREFIX.len());
        if !prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PREFIX)) {
            continue;
        }
        let known = key.strip_prefix(PREFIX);
        if known.is_some_and(|name| WRITTEN.contains(&name) || OURS.contains(&name)) {
            continue;
        }
        let letters: String = key
            .chars()
            .skip(PREFIX.len())
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let way_out = WRITTEN.iter().find(|name| **name == letters).map_or_else(
            || format!("use {PREFIX}ip or {PREFIX}handover, or take it off"),
            |meant| format!("did you mean {PREFIX}{meant}?"),
        );
        return Err(Denial::new(
            Because::Invalid,
            format!("annotation {key} is not known"),
            way_out,
        ));
    }
    Ok(())
}

const TEMPLATE: &str = "put the annotation into the pod's template, so that a new pod gets the address: a pod that \
                        runs cannot be steered to another node any more";

/// Whether a live pod's marks may change so. Removing the annotation is allowed, and detaches; the
/// label and the resolved UID then go with the controller.
///
/// # Errors
/// What the change would break.
pub fn check_update(
    pod: &dyn fmt::Display,
    before: Marks<'_>,
    after: Marks<'_>,
) -> Result<(), Denial> {
    let denied = |what, way_out| Err(Denial::new(Because::Forbidden, what, way_out));
    match (before.ip, after.ip) {
        (None, Some(_)) => {
            return denied(
                format!("annotation ip.wgtwo.com/ip was added to pod {pod}, which lives already"),
                TEMPLATE,
            );
        }
        (Some(was), Some(is)) if was != is => {
            return denied(
                format!(
                    "annotation ip.wgtwo.com/ip of pod {pod} was changed from \"{was}\" to \"{is}\""
                ),
                TEMPLATE,
            );
        }
        _ => {}
    }
    let resolved = (before.ip_uid, after.ip_uid);
    if after.ip_uid.is_some() && before.ip_uid != after.ip_uid {
        return denied(
            format!("annotation ip.wgtwo.com/ip-uid of pod {pod} was added or changed"),
            "leave it as it is: it is set when the pod is created, and says which IP was meant",
        );
    }
    if after.ip.is_some() && matches!(resolved, (Some(_), None)) {
        return denied(
            format!(
                "annotation ip.wgtwo.com/ip-uid was taken off pod {pod}, which asks for an address"
            ),
            "to give the address back, remove the annotation ip.wgtwo.com/ip",
        );
    }
    if after.ip.is_some() && before.label.is_some() && before.label != after.label {
        return denied(
            format!(
                "label ip.wgtwo.com/ip of pod {pod} was changed or taken off while the pod asks for an address"
            ),
            "leave it as it is: to give the address back, remove the annotation ip.wgtwo.com/ip",
        );
    }
    Ok(())
}
