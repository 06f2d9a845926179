//! Writes the status of the `IPNode` of this node.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mooring_plan::facts::HEARTBEAT;
use mooring_plan::names::ResourceVersion;
use mooring_plan::store_revision::Revision;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::desired::{Report, State};
use super::probe::{ProbeResult, ProbeResults, SubjectResult};
use super::reconcile::Reports;
use crate::api::read::{self, PROGRAMMED};
use crate::api::request::{RequestError, with_timeout};
use crate::api::{IpNode, IpNodeSpec, IpNodeStatus, ProbedAddress, ProgrammedAddress};
use crate::telemetry::chain;

/// Wait before a retry after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// Writes the reports whenever they change, and the heartbeat. `boot` is the present boot of the node; None: not known.
/// `restorations` receives how often the answers showed that the API server was restored from a backup (R1.25).
pub async fn run(
    client: Client,
    node: String,
    boot: Option<String>,
    mut reports: watch::Receiver<Reports>,
    mut outcomes: watch::Receiver<ProbeResults>,
    restorations: watch::Sender<u32>,
) {
    // The writes are made in sequence. An `IPNode` that was created again has a higher version, unless the store was
    // restored, so its UID does not matter.
    let mut revision = Revision::default();
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            changed = reports.changed() => if changed.is_err() { return },
            changed = outcomes.changed() => if changed.is_err() { return },
            _ = heartbeat.tick() => {}
        }
        let mut written = status(&reports.borrow_and_update(), &outcomes.borrow_and_update());
        written.boot_id.clone_from(&boot);
        loop {
            match write(&client, &node, &written).await {
                Ok(version) => {
                    revision = version.map_or(revision, |version| revision.answered(version));
                    publish(&restorations, revision.restorations());
                    break;
                }
                Err(error) => {
                    tracing::warn!(node, error = chain(&error), "the IPNode cannot be written");
                }
            }
            tokio::time::sleep(RETRY).await;
            if reports.has_changed().unwrap_or(true) || outcomes.has_changed().unwrap_or(true) {
                break;
            }
        }
    }
}

fn publish(restorations: &watch::Sender<u32>, now: u32) {
    let restored = restorations.send_if_modified(|before| std::mem::replace(before, now) != now);
    if restored {
        tracing::warn!("the API server was restored from a backup: all objects are listed again");
    }
}

/// The status that is written.
#[must_use]
pub fn status(reports: &Reports, outcomes: &ProbeResults) -> IpNodeStatus {
    let address = |(ip, report): (&String, &Report)| ProgrammedAddress {
        ip: ip.clone(),
        address: report.address.to_string(),
        pod_uid: report.pod.clone(),
        claim: report.claim.clone(),
        state: match report.state {
            State::Programmed => PROGRAMMED,
            State::Waiting => "Waiting",
            State::Failed => "Failed",
            State::Unsupported => "Unsupported",
        }
        .to_owned(),
        message: Some(report.message.clone()).filter(|message| !message.is_empty()),
        probe: outcomes
            .get(ip)
            .filter(|found| found.probed.is_of(report))
            .map(probed),
    };
    IpNodeStatus {
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        boot_id: None,
        heartbeat_time: Some(Time(Timestamp::now())),
        addresses: reports.iter().map(address).collect(),
    }
}

fn probed(found: &SubjectResult) -> ProbedAddress {
    let ProbeResult {
        observed,
        round_trip,
        message,
    } = &found.outcome;
    ProbedAddress {
        target: found.probed.target.clone(),
        observed: observed.map(|address| address.to_string()),
        round_trip_milliseconds: round_trip.and_then(|time| i64::try_from(time).ok()),
        message: Some(message.clone()).filter(|message| !message.is_empty()),
    }
}

/// Writes the status. Returns the version of the answer, if it can be compared.
async fn write(
    client: &Client,
    node: &str,
    written: &IpNodeStatus,
) -> Result<Option<ResourceVersion>, RequestError> {
    let api: Api<IpNode> = Api::all(client.clone());
    // A merge patch replaces the whole list, with any manual change in it. It removes a boot that is not known.
    let patch = Patch::Merge(json!({ "status": {
        "version": written.version, "bootID": written.boot_id, "heartbeatTime": written.heartbeat_time,
        "addresses": written.addresses,
    } }));
    let params = PatchParams::default();
    let request = || {
        let doing = || format!("writing the status of IPNode {node}");
        with_timeout(doing, api.patch_status(node, &params, &patch))
    };
    let written = match request().await {
        Err(error) if error.code() == Some(404) => {
            create(client, &api, node).await?;
            request().await
        }
        written => written,
    };
    let version = written?.metadata.resource_version;
    Ok(version.and_then(|version| read::version(&version).ok()))
}

/// Creates the `IPNode` with the Node as its owner, so that it is deleted together with the Node.
async fn create(client: &Client, api: &Api<IpNode>, name: &str) -> Result<(), RequestError> {
    let nodes = Api::<Node>::all(client.clone());
    let doing = || format!("reading Node {name}");
    let node = with_timeout(doing, nodes.get_metadata(name)).await?;
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: name.to_owned(),
        uid: node.metadata.uid.unwrap_or_default(),
        ..OwnerReference::default()
    };
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    };
    let object = IpNode {
        metadata,
        spec: IpNodeSpec {},
        status: None,
    };
    let (params, doing) = (PostParams::default(), || format!("creating IPNode {name}"));
    match with_timeout(doing, api.create(&params, &object)).await {
        Err(error) if error.code() == Some(409) => Ok(()),
        created => created.map(drop),
    }
}

#[cfg(test)]
mod tests;
