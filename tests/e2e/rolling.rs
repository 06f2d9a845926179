//! Two replicas behind their Service are restarted in turn, as in a rollout, while pods are created. The API server
//! chooses among the endpoints. The test removes and adds the endpoints, as Kubernetes does.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mooring_cluster::{Mooring, MooringOptions, NAMESPACE};
use serde_json::{Value, json};

use crate::certificates::{kustomized, trust_ca};
use crate::harness::scene::Scene;

scenes![apart no_admission_fails_while_the_replicas_are_restarted_in_turn];

/// The number of restarts; `make verify` sets a higher one.
const RESTARTS: usize = 4;
/// The time for which a replica still answers after SIGTERM. It is shorter than in `config/default`.
const DRAIN: Duration = Duration::from_secs(2);
/// 50 pods per second, if the machine is fast enough.
const PAUSE: Duration = Duration::from_millis(20);
const AT_A_TIME: usize = 20;

/// The address of a replica in the network namespace of a scene `apart`.
pub fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 231, 0, number)
}

async fn replica(scene: &Scene, number: u8) -> Arc<Mooring> {
    let options = MooringOptions {
        drain: DRAIN,
        register_webhooks: false,
        webhook: Some(SocketAddr::from((address(number), 8443))),
        ..MooringOptions::default()
    };
    scene.mooring_with(options).await
}

/// Writes the endpoints of the Service, as the endpoint slice controller does.
pub async fn publish(scene: &Scene, ready: &[u8]) {
    let endpoints: Vec<Value> = [1, 2]
        .iter()
        .map(|number| {
            json!({"addresses": [address(*number)], "conditions": {"ready": ready.contains(number)}})
        })
        .collect();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "mooring-webhook-1", "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": "mooring-webhook"},
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "webhook", "port": 8443, "protocol": "TCP"}],
    });
    scene.cluster().apply(&slice.to_string()).await;
}

/// Applies the Service and the webhook configurations of a folder of the repository. The test writes the endpoints.
pub async fn register(scene: &Scene, folder: &str, change: impl Fn(&mut Value)) {
    for mut object in kustomized(scene, folder).await {
        if object["kind"] == "Service" {
            object["spec"]["selector"].take();
        } else if object.get("webhooks").is_some() {
            change(&mut object);
        } else {
            continue;
        }
        scene.cluster().apply(&object.to_string()).await;
    }
}

/// The time that the kubelet waits before SIGTERM (`preStop` in `config/default`).
async fn pre_stop(scene: &Scene) -> Duration {
    let objects = kustomized(scene, "config/default").await;
    let mut deployments = objects.iter().filter(|it| it["kind"] == "Deployment");
    let containers =
        &deployments.next().expect("it is there")["spec"]["template"]["spec"]["containers"];
    let seconds = containers[0]["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64();
    Duration::from_secs(seconds.expect("it waits"))
}

/// Creates 50 pods per second until `stop` is set.
pub async fn create_on(scene: &Scene, ip: &str, stop: &AtomicBool, created: &AtomicUsize) {
    let create = async || {
        let pod = scene.pod_asking("web", ip, &json!({}));
        let pod = scene.would_create(&pod).await.accepted();
        let uid = &pod["metadata"]["annotations"]["ip.wgtwo.com/ip-uid"];
        assert!(uid.is_string(), "{pod:#}");
        created.fetch_add(1, Ordering::Relaxed);
    };
    let mut due = tokio::time::interval(PAUSE);
    let mut running = futures::stream::FuturesUnordered::new();
    while !stop.load(Ordering::Relaxed) {
        tokio::select! {
            _ = due.tick(), if running.len() < AT_A_TIME => running.push(create()),
            Some(()) = futures::StreamExt::next(&mut running) => {}
        }
    }
    while futures::StreamExt::next(&mut running).await.is_some() {}
}

/// The rate per second since `begin`.
pub fn rate(count: usize, begin: Instant) -> String {
    let seconds = usize::try_from(begin.elapsed().as_secs()).expect("a test ends");
    format!("{} a second,", count / seconds.max(1))
}

async fn no_admission_fails_while_the_replicas_are_restarted_in_turn(scene: &Scene) {
    let mut replicas = [replica(scene, 1).await, replica(scene, 2).await];
    publish(scene, &[1, 2]).await;
    register(scene, "config/default", |object| trust_ca(scene, object)).await;
    let pre_stop = pre_stop(scene).await;
    scene.block().await;
    let ip = scene.ip("web", 10).await;
    let (stop, created) = (AtomicBool::new(false), AtomicUsize::new(0));
    let restarts = mooring_cluster::count("MOORING_RESTARTS", RESTARTS);
    let begin = Instant::now();
    let restart = async {
        for count in 0..restarts {
            let number: u8 = if count % 2 == 0 { 1 } else { 2 };
            let old = &mut replicas[usize::from(number - 1)];
            let other = [3 - number];
            let ended = if count % 4 < 2 {
                // As in Kubernetes: the endpoint is removed at once, and SIGTERM is sent after preStop.
                tokio::join!(publish(scene, &other), tokio::time::sleep(pre_stop));
                old.terminate().await
            } else {
                // Without preStop: SIGTERM is sent while the API server still connects to the replica.
                tokio::join!(old.terminate(), publish(scene, &other)).0
            };
            assert!(ended.success(), "{ended}\n{}", old.log());
            *old = replica(scene, number).await;
            publish(scene, &[1, 2]).await;
        }
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(restart, create_on(scene, &ip.name, &stop, &created));
    let created = created.load(Ordering::Relaxed);
    assert!(created > 10 * restarts, "{created} pods only");
    println!(
        "verified: {created} admissions, {} over {} restarts of two replicas in turn, none failed",
        rate(created, begin),
        restarts
    );
}
