//! The stories: actions of users that cause writes of Mooring.

use mooring_cluster::Fault;
use serde_json::{Value, json};

use super::site::Lot;
use crate::harness::expectations::{GATE, condition};
use crate::harness::objects::{IP, merged, on};
use crate::harness::scene::{Ip, SOON};

/// A story: the state before, the action, and the expected end for every fault in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Story {
    /// An IP and a pod that asks for it are created together.
    Attach,
    /// The holder is deleted, and its successor waits on another node.
    Move { reassign: bool },
    /// A rollout to another node.
    Handover { reassign: bool },
    /// A rollout on the same node.
    HandoverInPlace,
    /// The address is edited while a pod has it.
    Edit,
    /// The annotation is removed from the pod.
    AnnotationRemoved,
    /// The pod is deleted, and has no successor.
    PodDeleted,
    /// The IP is deleted, and the pod stays.
    IpDeleted,
    /// A person sets `take-from`, to take the address from a foreign interface.
    TakeFrom,
    /// A foreign client removes label and owner from the reservation.
    ReservationStripped,
    /// A block is created.
    BlockMade,
    /// A block is deleted.
    BlockDeleted,
}

/// The annotation that allows an address to be taken.
const TAKE_FROM: &str = "ip.wgtwo.com/take-from";
/// The name suffix of the pod that waits for the address.
const SUCCESSOR: &str = "-successor";

impl Story {
    /// Creates the state before the action.
    pub async fn prepare(self, lot: &Lot<'_>) {
        let (scene, ip) = (lot.scene(), lot.ip());
        let app = &lot.names.app;
        match self {
            Self::Attach | Self::BlockMade => {}
            Self::BlockDeleted => {
                lot.make_block().await;
                lot.expect_block().await;
            }
            Self::Move { reassign } => {
                make_ip(lot, reassign).await;
                attached_pod(lot, &ip).await;
                let successor = format!("{app}{SUCCESSOR}");
                let placed = merged(labelled(app), &on(lot.there));
                scene.pod_with(&successor, &ip, &placed).await;
                scene
                    .eventually("the successor is bound", SOON, async || {
                        let pod = scene.get("Pod", &successor).await?;
                        pod["spec"]["nodeName"].as_str().map(drop)
                    })
                    .await;
            }
            Self::Handover { reassign } => {
                make_ip(lot, reassign).await;
                deployment(lot, &ip).await;
            }
            Self::HandoverInPlace => {
                make_ip(lot, false).await;
                deployment(lot, &ip).await;
            }
            Self::Edit
            | Self::AnnotationRemoved
            | Self::PodDeleted
            | Self::IpDeleted
            | Self::ReservationStripped => {
                make_ip(lot, false).await;
                attached_pod(lot, &ip).await;
            }
            Self::TakeFrom => {
                make_ip(lot, false).await;
                // No pod of this replay runs there.
                let foreign = &lot.there.interfaces[0];
                scene.foreign_assign(foreign, &ip.address).await;
                let placed = merged(labelled(app), &on(lot.here));
                scene.pod_with(app, &ip, &placed).await;
                scene.expect_event("AddressInUse", &ip.name).await;
            }
        }
    }

    /// Does the action.
    pub async fn begin(self, lot: &Lot<'_>) {
        let (scene, ip, app) = (lot.scene(), lot.ip(), &lot.names.app);
        match self {
            Self::Attach => {
                let spec = json!({"address": ip.address});
                scene.ip_unreserved(app, &spec).await;
                let placed = merged(labelled(app), &on(lot.here));
                scene.pod_with(app, &ip, &placed).await;
            }
            Self::Move { .. } | Self::PodDeleted => {
                scene
                    .kubectl(&format!("delete pod {app} --force --grace-period=0"))
                    .await
                    .success();
            }
            Self::Handover { .. } => scene.roll_out(app, &on(lot.there)).await,
            Self::HandoverInPlace => scene.roll_out(app, &on(lot.here)).await,
            Self::Edit => {
                // The edit waits for an inventory that begins now. If it ended before the reservation was answered, fewer
                // writes would be made than in the clean run.
                let slow = Fault::delay(INVENTORY_TAKES).of("DescribeNetworkInterfaces");
                scene.ec2().fault(slow.times(2)).await;
                let change = json!({"spec": {"address": lot.names.addresses[1]}});
                scene.patch("IP", &ip.name, &change).await;
            }
            Self::AnnotationRemoved => {
                let change = json!({"metadata": {"annotations": {IP: null}}});
                scene.patch("Pod", app, &change).await;
            }
            Self::IpDeleted => scene.delete("IP", &ip.name).await,
            Self::TakeFrom => {
                // No pod of this replay runs there.
                let foreign = &lot.there.interfaces[0];
                let change = json!({"metadata": {"annotations": {TAKE_FROM: foreign}}});
                scene.patch("IP", &ip.name, &change).await;
            }
            Self::ReservationStripped => {
                let change = json!({"metadata": {"labels": null, "ownerReferences": null}});
                scene.patch("IPAddress", &ip.address, &change).await;
            }
            Self::BlockMade => lot.make_block().await,
            Self::BlockDeleted => scene.delete("IPBlock", &lot.names.block).await,
        }
    }

    /// Waits for the expected end.
    pub async fn end(self, lot: &Lot<'_>) {
        let (scene, ip, app) = (lot.scene(), lot.ip(), &lot.names.app);
        match self {
            Self::Attach => expect_on(lot, &ip, app, &lot.here.interfaces[0]).await,
            Self::Move { .. } => {
                expect_on(
                    lot,
                    &ip,
                    &format!("{app}{SUCCESSOR}"),
                    &lot.there.interfaces[0],
                )
                .await;
            }
            Self::Handover { .. } => expect_rolled_out(lot, &ip, &lot.there.interfaces[0]).await,
            Self::HandoverInPlace => expect_rolled_out(lot, &ip, &lot.here.interfaces[0]).await,
            Self::Edit => {
                let address = lot.names.addresses[1].clone();
                let new = Ip {
                    address,
                    ..ip.clone()
                };
                expect_on(lot, &new, app, &lot.here.interfaces[0]).await;
                expect_free(lot, &ip.address).await;
            }
            Self::AnnotationRemoved => {
                expect_unheld(lot, &ip).await;
                expect_released(lot).await;
            }
            Self::PodDeleted => {
                expect_unheld(lot, &ip).await;
                scene
                    .expect_condition("IP", &ip.name, "Reserved", "True")
                    .await;
            }
            Self::IpDeleted => {
                expect_free(lot, &ip.address).await;
                scene.expect_gone(&ip).await;
                scene.expect_gate_closed(app, "StalePod").await;
            }
            Self::TakeFrom => {
                expect_on(lot, &ip, app, &lot.here.interfaces[0]).await;
                scene
                    .eventually(
                        "the annotation is removed after its use",
                        SOON,
                        async || {
                            let object = scene.get("IP", &ip.name).await?;
                            object["metadata"]["annotations"][TAKE_FROM]
                                .is_null()
                                .then_some(())
                        },
                    )
                    .await;
            }
            Self::ReservationStripped => {
                scene
                    .eventually("the reservation has its owner", LONG, async || {
                        let object = scene.get("IPAddress", &ip.address).await?;
                        let meta = &object["metadata"];
                        let repaired = meta["labels"]["ip.wgtwo.com/ip-uid"].is_string()
                            && meta["ownerReferences"][0]["name"] == ip.name.as_str();
                        repaired.then_some(())
                    })
                    .await;
                expect_on(lot, &ip, app, &lot.here.interfaces[0]).await;
            }
            Self::BlockMade => lot.expect_block().await,
            Self::BlockDeleted => expect_no_block(lot).await,
        }
    }
}

/// The time limit after a crash: an inventory without the address counts only after 10 s, and a release whose reason no
/// watch showed is made only after a minute.
pub const LONG: std::time::Duration = std::time::Duration::from_mins(2);

/// The duration of an inventory after an edit: longer than a write.
const INVENTORY_TAKES: std::time::Duration = std::time::Duration::from_millis(500);

fn labelled(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}})
}

async fn make_ip(lot: &Lot<'_>, reassign: bool) {
    let spec = json!({"address": lot.names.addresses[0], "reassign": reassign});
    lot.scene().ip_with(&lot.names.app, &spec).await;
}

/// Creates a pod on the first node, and waits until it has the address.
async fn attached_pod(lot: &Lot<'_>, ip: &Ip) {
    let app = &lot.names.app;
    let placed = merged(labelled(app), &on(lot.here));
    lot.scene().pod_with(app, ip, &placed).await;
    lot.scene().expect_attached(ip, app).await;
}

/// Creates a Deployment on the first node, and waits until its pod has the address.
async fn deployment(lot: &Lot<'_>, ip: &Ip) {
    let (scene, app) = (lot.scene(), &lot.names.app);
    let template = json!({"template": on(lot.here)});
    scene.deployment_with(app, ip, &template).await;
    let old = scene.only_pod(app).await;
    scene.expect_attached(ip, &old).await;
    scene.expect_pod_ready(&old).await;
    lot.old.set(old).expect("it is prepared once");
}

async fn expect_on(lot: &Lot<'_>, ip: &Ip, pod: &str, interface: &str) {
    let scene = lot.scene();
    let sentence = format!("{} is attached to {pod} on {interface}", ip.address);
    scene
        .eventually(&sentence, LONG, async || {
            let object = scene.attached(ip, pod).await?;
            let status = &object["status"];
            if status["networkInterfaceID"] == interface && status["address"] == ip.address.as_str()
            {
                Ok(())
            } else {
                Err(status.to_string())
            }
        })
        .await;
    scene
        .attached
        .store(true, std::sync::atomic::Ordering::Relaxed);
}

async fn expect_rolled_out(lot: &Lot<'_>, ip: &Ip, interface: &str) {
    let old = lot.old.get().expect("it was prepared");
    let new = lot.scene().new_pod(&lot.names.app, &[old]).await;
    expect_on(lot, ip, &new, interface).await;
    lot.scene().expect_pod_gone(old).await;
}

/// The IP has no holder, and its address is on no interface.
async fn expect_unheld(lot: &Lot<'_>, ip: &Ip) {
    let scene = lot.scene();
    let sentence = format!("{} is released", ip.address);
    scene
        .eventually(&sentence, LONG, async || {
            let object = scene.get("IP", &ip.name).await.ok_or("no IP")?;
            let on = scene.ec2().address_on(&ip.address).await;
            if on.is_none() && object["status"]["claimed"] != true {
                Ok(())
            } else {
                Err(format!("{on:?}, {}", object["status"]))
            }
        })
        .await;
}

/// The address is on no interface and not reserved.
async fn expect_free(lot: &Lot<'_>, address: &str) {
    let scene = lot.scene();
    scene
        .eventually("nothing is left of the old address", LONG, async || {
            let on = scene.ec2().address_on(address).await;
            let reserved = scene.get("IPAddress", address).await;
            if on.is_none() && reserved.is_none() {
                Ok(())
            } else {
                Err(format!("{on:?}, {reserved:?}"))
            }
        })
        .await;
}

/// The pod does not ask for an IP, and its gate is `True`.
async fn expect_released(lot: &Lot<'_>) {
    let (scene, app) = (lot.scene(), &lot.names.app);
    scene
        .eventually("the pod is released", LONG, async || {
            let pod = scene.get("Pod", app).await.ok_or("no pod")?;
            let labelled = !pod["metadata"]["labels"][IP].is_null()
                || !pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"].is_null();
            match condition(&pod, GATE) {
                Some(("True", "NotRequested", _)) if !labelled => Ok(()),
                gate => Err(format!("{gate:?}, {}", pod["metadata"])),
            }
        })
        .await;
}

async fn expect_no_block(lot: &Lot<'_>) {
    let scene = lot.scene();
    let label = format!(
        "ip.wgtwo.com.node-restriction.kubernetes.io/{}",
        lot.names.block
    );
    scene
        .eventually("nothing is left of the block", LONG, async || {
            if let Some(block) = scene.get("IPBlock", &lot.names.block).await {
                return Err(block.to_string());
            }
            for node in [lot.here, lot.there] {
                let node = scene.get("Node", &node.name).await.ok_or("no node")?;
                if node["metadata"]["labels"].get(&label).is_some() {
                    return Err(node["metadata"].to_string());
                }
            }
            Ok(())
        })
        .await;
}
