//! Checks the syntax of names in an object: a name with invalid syntax could not match anything.
//! Rules: R8.16, R8.18.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::{Denial, DenyReason};
use crate::names::BlockName;

/// Maximum length of a DNS label, and of the value and the name part of a node label (RFC 1123; Kubernetes, "Labels").
const LABEL: usize = 63;
/// Maximum length of a DNS name: the name of most objects, and the prefix of a label key.
const DNS_NAME: usize = 253;

/// True if the text has the syntax of one part of a DNS name. The length is not checked.
fn is_dns_word(text: &str) -> bool {
    let letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(text, letter, |byte| letter(byte) || *byte == b'-')
}

/// True if the text is a DNS name (a subdomain of RFC 1123), as the name of an `IP` must be.
#[must_use]
pub fn is_dns_name(text: &str) -> bool {
    text.len() <= DNS_NAME && text.split('.').all(is_dns_word)
}

/// True if the text is a DNS label (RFC 1123), as the name of a namespace must be.
fn is_dns_label(text: &str) -> bool {
    is_dns_word(text) && text.len() <= LABEL
}

/// True if the text is a valid label value, or a valid name part of a label key.
fn is_label_word(text: &str) -> bool {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    framed(text, u8::is_ascii_alphanumeric, inside) && text.len() <= LABEL
}

/// True if the text is not empty, its first and last byte satisfy `end`, and all bytes satisfy `inside`.
fn framed(text: &str, end: impl Fn(&u8) -> bool, inside: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&end) && bytes.last().is_some_and(&end) && bytes.iter().all(inside)
}

fn is_label_key(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/') else {
        return is_label_word(key);
    };
    is_dns_name(prefix) && is_label_word(name)
}

/// True if the prefix of the key belongs to Mooring: `ip.wgtwo.com`, a subdomain, or the prefix of the block labels.
fn is_ours(key: &str) -> bool {
    let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
    prefix == "ip.wgtwo.com"
        || prefix.ends_with(".ip.wgtwo.com")
        || prefix == "ip.wgtwo.com.node-restriction.kubernetes.io"
}

/// Checks that every entry of `spec.allowedNamespaces` can be a namespace. Another entry would allow nothing.
///
/// # Errors
/// The first entry that cannot be a namespace.
pub fn check_namespaces<'a>(
    object: &dyn fmt::Display,
    allowed: impl IntoIterator<Item = &'a str>,
) -> Result<(), Denial> {
    let wrong = allowed
        .into_iter()
        .find(|name| *name != "*" && !is_dns_label(name));
    let Some(name) = wrong else { return Ok(()) };
    let lower = name.trim().to_ascii_lowercase();
    let way_out = if is_dns_label(&lower) {
        format!("write \"{lower}\"")
    } else {
        "list namespaces by their names (kubectl get namespaces), or \"*\" for all".to_string()
    };
    Err(Denial::new(
        DenyReason::Invalid,
        format!(
            "spec.allowedNamespaces of {object} has \"{name}\", which is not a valid namespace name (lower-case \
             letters, digits and \"-\")"
        ),
        way_out,
    ))
}

/// Checks that nodes can have the labels of `spec.nodeSelector`, and that no label belongs to Mooring.
///
/// # Errors
/// The first label that is not allowed.
pub fn check_node_labels(
    block: &BlockName,
    labels: &BTreeMap<String, String>,
) -> Result<(), Denial> {
    for (key, value) in labels {
        let (wrong, way_out) = if is_ours(key) {
            (
                format!("the label {key}, which Mooring manages"),
                "leave spec.nodeSelector out, and Mooring labels the nodes; or choose them by labels of your own",
            )
        } else if !is_label_key(key) {
            (
                format!("the key \"{key}\", which is not a valid label key"),
                "use the key of a label of the nodes: kubectl get nodes --show-labels",
            )
        } else if !value.is_empty() && !is_label_word(value) {
            (
                format!("{key}: \"{value}\", which is not a valid label value"),
                "write at most 63 letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends",
            )
        } else {
            continue;
        };
        return Err(Denial::new(
            DenyReason::Invalid,
            format!("spec.nodeSelector of IPBlock \"{block}\" has {wrong}"),
            way_out,
        ));
    }
    Ok(())
}

/// Checks that the annotation `take-from` of an IP has the syntax of an ENI id. Only EC2 knows whether the ENI
/// exists.
///
/// # Errors
/// The value is not the id of an ENI.
pub fn check_take_from(ip: &dyn fmt::Display, given: &str) -> Result<(), Denial> {
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_id = given
        .strip_prefix("eni-")
        .is_some_and(|id| matches!(id.len(), 8 | 17) && id.bytes().all(hexadecimal));
    if is_id {
        return Ok(());
    }
    Err(Denial::new(
        DenyReason::Invalid,
        format!(
            "annotation ip.wgtwo.com/take-from of {ip} is \"{given}\", which is not the id of a network interface"
        ),
        "write the id of the interface that the address may be taken from, such as eni-0123456789abcdef0",
    ))
}
