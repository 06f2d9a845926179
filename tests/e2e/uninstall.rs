//! Uninstall of Mooring: in the order of docs/operate.md nothing is left, and out of order it can still be completed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::harness::scene::Scene;
use crate::readme::{OPERATE, arguments, blocks, shell};

scenes![
    alone an_uninstall_in_order_leaves_nothing,
    alone an_uninstall_out_of_order_can_be_completed,
    alone an_uninstall_that_began_with_the_kinds_is_completed_when_all_kinds_are_back,
];

async fn expect_nothing_left(scene: &Scene) {
    // The scene has nothing left to clean up.
    scene.ips.lock().unwrap().clear();
    scene.blocks.lock().unwrap().clear();
    for kind in ["ips", "ipblocks", "ipnodes"] {
        let get = format!("get crd {kind}.ip.wgtwo.com");
        let stderr = scene.kubectl(&get).await.failure();
        assert!(stderr.contains("NotFound"), "{stderr}");
    }
    let ours = "get ipaddresses -o name -l ipaddress.kubernetes.io/managed-by=ip.wgtwo.com";
    assert_eq!(scene.kubectl(ours).await.success().trim(), "");
}

async fn an_uninstall_in_order_leaves_nothing(scene: &Scene) {
    scene.mooring().await;
    let ip = scene.attached_pod().await;
    // The parts of config/default that a process outside of the cluster does not need.
    for part in ["service", "deployment", "pod_disruption_budget"] {
        let file = mooring_cluster::repository().join(format!("config/default/{part}.yaml"));
        let words = [
            "apply".to_owned(),
            "-f".to_owned(),
            file.display().to_string(),
        ];
        scene.cluster().kubectl(words).await.success();
    }
    // The rights are deleted with config/default, before the process ends. The judge must ignore its refused requests.
    scene.rights_were_away.store(true, Ordering::Relaxed);
    let [uninstall, _] = blocks(OPERATE, "## Uninstall", "sh").try_into().unwrap();
    // Without cert-manager its kinds do not exist, so these lines are skipped.
    for line in uninstall
        .lines()
        .filter(|line| !line.contains("webhook-certs"))
    {
        scene.cluster().kubectl(arguments(line)).await.success();
    }
    expect_nothing_left(scene).await;
    assert_eq!(scene.ec2().address_on(&ip.address).await, None);
}

async fn an_uninstall_out_of_order_can_be_completed(scene: &Scene) {
    let mooring = scene.mooring().await;
    let ip = scene.attached_pod().await;
    mooring.kill9();
    let waits = format!("delete ip.ip.wgtwo.com {} --timeout=2s", ip.name);
    scene.kubectl(&waits).await.failure();
    // The procedure of docs/operate.md: first EC2, then the finalizers.
    let interface = scene
        .ec2()
        .address_on(&ip.address)
        .await
        .expect("it is there");
    scene.foreign_unassign(&interface, &ip.address).await;
    let [_, way_on] = blocks(OPERATE, "## Uninstall", "sh").try_into().unwrap();
    let output = shell(scene, &way_on).await;
    assert!(output.status.success(), "{output:?}");
    expect_nothing_left(scene).await;
    scene
        .kubectl("delete namespace mooring-system")
        .await
        .success();
}

async fn an_uninstall_that_began_with_the_kinds_is_completed_when_all_kinds_are_back(
    scene: &Scene,
) {
    let mooring = scene.mooring().await;
    let ip = scene.attached_pod().await;
    mooring.kill9();
    let kinds = |line: &str| scene.cluster().kubectl(arguments(line));
    kinds("kubectl delete --wait=false -k config/crd")
        .await
        .success();
    // No object holds this kind. A controller does not begin without it.
    let limit = Duration::from_mins(1);
    scene
        .eventually("the kind IPNode is gone", limit, async || {
            let output = scene.kubectl("get crd ipnodes.ip.wgtwo.com").await;
            !output.ok
        })
        .await;
    kinds("kubectl apply -k config/crd").await.success();
    scene.mooring().await;
    for kind in ["ips", "ipblocks"] {
        let get = format!("get crd {kind}.ip.wgtwo.com");
        scene
            .eventually(&format!("{kind} are gone"), limit, async || {
                !scene.kubectl(&get).await.ok
            })
            .await;
    }
    kinds("kubectl delete --ignore-not-found -k config/crd")
        .await
        .success();
    expect_nothing_left(scene).await;
    assert_eq!(scene.ec2().address_on(&ip.address).await, None);
}
