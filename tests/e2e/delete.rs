//! An IP, or its reservation, is deleted while a pod has the address.

use kube::api::PostParams;
use serde_json::json;

use crate::harness::scene::{SOON, Scene};

scenes![
    shared an_ip_is_deleted_only_when_its_address_is_detached,
    shared foreground_deletion_completes,
    shared a_recreated_ip_is_another_ip,
    shared a_manually_deleted_reservation_keeps_reserving,
    shared a_finalizer_that_a_put_removed_is_put_back,
];

async fn an_ip_is_deleted_only_when_its_address_is_detached(scene: &Scene) {
    let ip = scene.attached_pod().await;
    scene.delete("IP", &ip.name).await;
    scene.expect_gone(&ip).await;
    scene.expect_gate_closed("web", "StalePod").await;
    // The order: the address leaves the interface, then the reservation is deleted, then the IP.
    let mut audit = scene.audit();
    audit.retain(|event| event.by_mooring() && event.is_write() && event.subresource.is_empty());
    let last = |resource: &str, name: &str| {
        let ours = audit
            .iter()
            .filter(|event| event.resource == resource && event.name == name);
        ours.max_by_key(|event| event.received)
            .unwrap_or_else(|| panic!("no write of {resource}"))
    };
    let (reservation, finalizer) = (last("ipaddresses", &ip.address), last("ips", &ip.name));
    assert!(
        reservation.received < finalizer.received,
        "the reservation goes before the IP"
    );
    let unassigned = scene
        .mutations()
        .await
        .last()
        .expect("it was detached")
        .unix_ms;
    let released = reservation.answered.as_millisecond();
    assert!(u64::try_from(released).unwrap_or_default() >= unassigned);
}

async fn foreground_deletion_completes(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let arguments = format!("delete ip {} --cascade=foreground --timeout=60s", ip.name);
    scene.kubectl(&arguments).await.success();
    scene.expect_gone(&ip).await;
}

async fn a_manually_deleted_reservation_keeps_reserving(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let calls = scene.mutations().await.len();
    scene.delete("IPAddress", &ip.address).await;
    // The finalizer keeps the reservation, and nothing is detached because of its deletion (R2.12).
    scene
        .remains(
            "the pod keeps its address",
            std::time::Duration::from_secs(3),
            async || {
                let reserved = scene.get("IPAddress", &ip.address).await.is_some();
                if reserved {
                    scene.attached(&ip, "web").await
                } else {
                    Err("no reservation".to_owned())
                }
            },
        )
        .await;
    assert_eq!(scene.mutations().await.len(), calls);
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
    // The reservation still exists, so no other IP could take the address in between.
    assert!(scene.get("IPAddress", &ip.address).await.is_some());
    scene.pod("next", &ip).await;
    scene.expect_attached(&ip, "next").await;
}

async fn a_recreated_ip_is_another_ip(scene: &Scene) {
    let ip = scene.attached_pod().await;
    let first = scene.get("IP", &ip.name).await.expect("it is attached");
    scene.delete("IP", &ip.name).await;
    scene
        .eventually("the first is gone", SOON, async || {
            scene.get("IP", &ip.name).await.is_none()
        })
        .await;
    scene.expect_gate_closed("web", "StalePod").await;
    // Created at once, while the garbage collector may still process the dependents of the first IP.
    let again = scene.ip("web", 10).await;
    let second = scene.get("IP", &again.name).await.expect("it is reserved");
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    // The pod has the UID of the first IP. A new pod asks for the second IP.
    scene.pod("next", &again).await;
    scene.expect_attached(&again, "next").await;
    scene.expect_gate_closed("web", "StalePod").await;
}

async fn a_finalizer_that_a_put_removed_is_put_back(scene: &Scene) {
    let ip = scene.attached_pod().await;
    // As `kubectl replace` does with a file without finalizers.
    let api = scene.api("IP");
    scene
        .eventually("the PUT is accepted", SOON, async || {
            let known = api.get(&ip.name).await;
            let mut object = known.map_err(|error| error.to_string())?;
            object.metadata.finalizers = None;
            let put = api.replace(&ip.name, &PostParams::default(), &object).await;
            put.map(drop).map_err(|error| error.to_string())
        })
        .await;
    scene
        .eventually("the finalizer is there", SOON, async || {
            let object = scene.get("IP", &ip.name).await.unwrap_or_default();
            object["metadata"]["finalizers"] == json!(["ip.wgtwo.com/detach"])
        })
        .await;
    let before = scene.mutations().await.len();
    scene.delete("IP", &ip.name).await;
    scene.expect_gone(&ip).await;
    let since = scene.mutations().await.split_off(before);
    let unassigns = since
        .iter()
        .filter(|call| call.action.starts_with("Unassign"));
    assert_eq!(unassigns.count(), 1, "{since:?}");
}
