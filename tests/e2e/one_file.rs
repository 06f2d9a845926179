//! Block, IP and pod in one file.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::requests::{block_named, ip_named};
use crate::harness::scene::Scene;

scenes![
    shared block_ip_and_pod_in_one_file_are_applied_in_50_of_50_attempts,
    shared block_ip_and_pod_in_quick_sequence_are_accepted,
];

/// The number of files that are applied in parallel.
const SIDE_BY_SIDE: usize = 2;

/// A block of sixteen addresses in a range `prefix` (a /16, written as `10.98.`) that no other scene has, an IP in it,
/// and a pod that asks for it. Returns the name of block and IP, the name of the pod, and the objects.
fn objects(
    scene: &Scene,
    prefix: &str,
    subnet: &str,
    number: usize,
) -> (String, String, [Value; 3]) {
    let (name, pod) = (scene.named(&format!("f{number}")), format!("pod-{number}"));
    let cidr = format!("{prefix}{}.{}/28", 1 + number / 16, number % 16 * 16);
    let address = format!("{prefix}{}.{}", 1 + number / 16, number % 16 * 16 + 7);
    scene.remember_block(&name);
    scene.remember_ip(&name);
    let objects = [
        block_named(&name, &json!({"cidr": cidr, "subnetID": subnet})),
        ip_named(&name, &json!({"address": address})),
        scene.pod_asking(&pod, &name, &json!({})),
    ];
    (name, pod, objects)
}

/// Checks that the pod got the UID of the IP that it asks for.
async fn meant(scene: &Scene, ip: &str, pod: &str) -> Result<(), String> {
    let pod = scene.get("Pod", pod).await.expect("it was just created");
    let object = scene.get("IP", ip).await.expect("it was just created");
    let meant = &pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"];
    if *meant == object["metadata"]["uid"] {
        Ok(())
    } else {
        Err(format!("{ip}: another IP: {meant}"))
    }
}

async fn block_ip_and_pod_in_one_file_are_applied_in_50_of_50_attempts(scene: &Scene) {
    let prefix = "10.98.";
    let subnet = scene.cluster().add_subnet(&format!("{prefix}0.0/16")).await;
    scene.prefixes.lock().unwrap().push(prefix.to_owned());
    let once = async |number: usize| {
        let (name, pod, objects) = objects(scene, prefix, &subnet.id, number);
        let file = objects.map(|object| object.to_string()).join("\n---\n");
        let apply = ["apply", "-f", "-"];
        let mut output = scene.cluster().kubectl_with(apply, &file).await;
        // On a busy machine the API server can answer a read of a review too late. The refusal then asks for a retry.
        // That is not the race that this scene looks for.
        for _ in 0..9 {
            if !output.stderr.contains("no answer within") {
                break;
            }
            output = scene.cluster().kubectl_with(apply, &file).await;
        }
        if output.ok {
            meant(scene, &name, &pod).await
        } else {
            Err(format!("{number}: {}", output.stderr))
        }
    };
    let mut failures = Vec::new();
    for first in (0..50).step_by(SIDE_BY_SIDE) {
        let batch = join_all((first..first + SIDE_BY_SIDE).map(&once)).await;
        failures.extend(batch.into_iter().filter_map(Result::err));
    }
    assert!(
        failures.is_empty(),
        "{} of 50 failed: {failures:#?}",
        failures.len()
    );
}

async fn block_ip_and_pod_in_quick_sequence_are_accepted(scene: &Scene) {
    // These requests are faster than kubectl, so they are often faster than the watch of the webhook.
    let prefix = "10.97.";
    let subnet = scene.cluster().add_subnet(&format!("{prefix}0.0/16")).await;
    scene.prefixes.lock().unwrap().push(prefix.to_owned());
    for number in 0..50 {
        let (name, pod, [block, ip, asking]) = objects(scene, prefix, &subnet.id, number);
        scene.creates(&block).await.accepted();
        scene.creates(&ip).await.accepted();
        scene.creates(&asking).await.accepted();
        assert_eq!(meant(scene, &name, &pod).await, Ok(()));
    }
}
