//! Checks that the annotations of a new pod are known.
//! Rule: R8.3.

use alloc::format;
use alloc::string::String;

use super::{Denial, DenyReason};

/// The prefix of annotations that are meant for Mooring.
const PREFIX: &str = "ip.wgtwo.com/";
/// The keys after the prefix that a user may set on a pod.
const WRITTEN: [&str; 2] = ["ip", "handover"];
/// The keys that Mooring sets. A pod that is created from the manifest of another pod can have them.
const OURS: [&str; 2] = ["ip-uid", "denied-at"];

/// Checks that every annotation of a new pod with the prefix of Mooring is known. A misspelled one would be ignored,
/// and the pod would run without its address.
///
/// # Errors
/// The first unknown annotation.
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
            || format!("use {PREFIX}ip or {PREFIX}handover, or remove it"),
            |meant| format!("did you mean {PREFIX}{meant}?"),
        );
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("annotation {key} is not known"),
            way_out,
        ));
    }
    Ok(())
}
