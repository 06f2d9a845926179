//! The admission rules for pods.
//! Rule: R8.11.

use k8s_openapi::api::core::v1::Pod;
use mooring_plan::admission::pod::check_annotations;
use mooring_plan::admission::usage::{ServiceAccount, Use};
use mooring_plan::admission::{Denial, DenyReason};

use super::assess::assess;
use super::mutations::mutations;
use super::resolve::Resolved;
use super::{Called, asks_for};
use crate::admission::{Allowed, PluginSettings, Snapshot, Verdict};

/// The mutating review of a new pod: adds what the pod needs to get its address.
///
/// # Errors
/// The pod cannot have the address that it asks for.
pub fn mutate_pod(
    pod: &Pod,
    namespace: &str,
    snapshot: &Snapshot,
    settings: PluginSettings,
) -> Verdict {
    known(pod)?;
    let Some(asked) = asks_for(pod) else {
        return Ok(Allowed::silently());
    };
    let resolved = assess(asked, pod, namespace, snapshot)?;
    let patch = mutations(pod, &resolved, settings)
        .into_iter()
        .flat_map(|mutation| mutation.patch);
    Ok(Allowed::silently()
        .warning(held(&resolved))
        .changing(patch.collect()))
}

/// The validating review of a new pod: what the mutating review added must still be there.
///
/// # Errors
/// The pod cannot have the address that it asks for.
pub fn validate_pod(
    pod: &Pod,
    namespace: &str,
    snapshot: &Snapshot,
    settings: PluginSettings,
) -> Verdict {
    known(pod)?;
    let Some(asked) = asks_for(pod) else {
        return Ok(Allowed::silently());
    };
    let resolved = assess(asked, pod, namespace, snapshot)?;
    let mutations = mutations(pod, &resolved, settings);
    let lost: Vec<_> = mutations
        .iter()
        .filter(|mutation| mutation.essential)
        .map(|mutation| mutation.what)
        .collect();
    if lost.is_empty() {
        return Ok(Allowed::silently()
            .using(wanted(pod, namespace, &resolved))
            .granting(granted(pod, namespace, &resolved)));
    }
    Err(Denial::from_others(
        DenyReason::Forbidden,
        format!(
            "pod {} has lost what it needs to have IP \"{}\": {}",
            Called { pod, namespace },
            resolved.ip_name(),
            lost.join(", ")
        ),
        "configure the admission webhook that removes it to ignore pods with annotation ip.wgtwo.com/ip \
         (kubectl get mutatingwebhookconfigurations), then try again",
    ))
}

/// Refuses unknown annotations of Mooring on a new pod. Existing pods are not checked.
fn known(pod: &Pod) -> Result<(), Denial> {
    let annotations = pod.metadata.annotations.iter().flatten();
    check_annotations(annotations.map(|(key, _)| key.as_str()))
}

/// The use that the pod makes of its IP.
fn wanted(pod: &Pod, namespace: &str, resolved: &Resolved<'_>) -> Use {
    let spec = pod.spec.as_ref();
    Use {
        pod: Called { pod, namespace }.to_string(),
        ip: resolved.ip.name.clone(),
        account: ServiceAccount::of_pod(
            namespace,
            spec.and_then(|spec| spec.service_account_name.as_deref()),
        ),
    }
}

/// The text for the audit log. It has no address if the IP is new and the address is not reserved yet.
fn granted(pod: &Pod, namespace: &str, resolved: &Resolved<'_>) -> String {
    let address = resolved.ip.reserved;
    let address = address.map(|address| format!(" ({address})"));
    format!(
        "IP {}{} of IPBlock {} to pod {}",
        resolved.ip_name(),
        address.unwrap_or_default(),
        resolved.block_name(),
        Called { pod, namespace }
    )
}

/// The warning that the pod has to wait, because another pod holds or held the address.
fn held(resolved: &Resolved<'_>) -> Option<String> {
    let holder = resolved.ip.holder.as_ref()?;
    if resolved.ip.detaching {
        return Some(format!(
            "the address of IP \"{}\" is still being detached (see its conditions): this pod gets it after that",
            resolved.ip_name()
        ));
    }
    Some(format!(
        "IP \"{}\" is held by pod {holder}: this pod is ready once that one has handed it over or is gone",
        resolved.ip_name()
    ))
}
