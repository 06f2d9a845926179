use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mooring_cluster::{Cluster, ClusterOptions, Fault, Mooring, MooringOptions, NodeSpec};
use serde_json::{Value, json};

use crate::verified::ECHO;
use mooring_cluster::network::{Api, Backend, PARTNER, Protocol, World, X, eventually, runtime_in};

const NODES: [&str; 2] = ["a", "b"];

/// The controller, a real API server and scheduler, and the EC2 emulator control the nodes: the VPC delivers packets to
/// the node to which EC2 has assigned the address. As soon as a pod is ready, the partner reaches it and it reaches the
/// partner with its address. No packet ever has a wrong source.
pub fn a_ready_pod_is_reached_and_seen_under_its_address(backend: Backend) {
    let world = World::new(backend);
    let nodes = [world.node("a"), world.node("b")];
    world.whitelist(X);
    world.serve("partner", PARTNER);
    let _echo = world.echo("partner", ECHO);
    world.make("control");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Ends the control plane even if a check below fails.
        let _stop = Stop(&stop);
        let (started, ready) = mpsc::channel();
        let (world, stop) = (&world, &stop);
        scope.spawn(move || run_control_plane(world, &started, stop));
        let (folder, subnet, port) = ready.recv().expect("the control plane starts");
        let api = Api {
            world,
            at: Some("control"),
            folder,
        };
        api.install_node_part();
        for node in NODES {
            api.reachable_from(node, port);
            api.authorize_node_part(node);
        }
        let mut parts: BTreeMap<&str, _> =
            NODES.map(|node| (node, api.start_node_part(node))).into();
        make_block(&api, &subnet);
        let mut before: Option<(&str, usize, String)> = None;
        // To one node, to the other, and back.
        for (pod, at) in [("first", 0), ("second", 1), ("third", 0)] {
            make_pod(&api, pod, NODES[at]);
            let address = eventually(
                "the pod has an address of its own",
                || evidence(&api),
                || {
                    api.get(&format!("pod {pod}"))["status"]["podIP"]
                        .as_str()
                        .map(str::to_owned)
                },
            );
            nodes[at].pod(pod, &address);
            if pod == "third" {
                // While the node part of its node is away, the pod waits with a reason.
                parts.remove(NODES[at]);
            }
            if let Some((before, at, address)) = before.replace((pod, at, address)) {
                api.kubectl(&format!("delete pod {before}"));
                nodes[at].end_pod(before, &address);
            }
            if pod == "third" {
                eventually(
                    "the gate of the pod reports that its node passes no packets",
                    || evidence(&api),
                    || {
                        (condition(&api.get("pod third"), "ip.wgtwo.com/attached")["reason"]
                            == "NotProgrammed")
                            .then_some(())
                    },
                );
                assert_eq!(is_ready(&api, "third"), Some(false), "{}", evidence(&api));
                parts.insert(NODES[at], api.start_node_part(NODES[at]));
            }
            eventually(
                "the pod is ready",
                || evidence(&api),
                || is_ready(&api, pod)?.then_some(()),
            );
            assert_eq!(
                world.ask("partner", Protocol::Tcp, X),
                Ok(PARTNER.to_owned()),
                "the partner reaches the ready pod {pod}\n{}",
                evidence(&api)
            );
            assert_eq!(
                world.ask(pod, Protocol::Tcp, PARTNER),
                Ok(X.to_owned()),
                "the ready pod {pod} is seen under its address\n{}",
                evidence(&api)
            );
            for kind in ["Programmed", "Verified", "Ready"] {
                eventually(
                    "the IP says so",
                    || evidence(&api),
                    || (condition(&api.get("ip partner"), kind)["status"] == "True").then_some(()),
                );
            }
        }
        expect_event(&api);
        // When the last pod is deleted, its address is removed.
        api.kubectl("delete pod third --wait=false");
        eventually(
            "nothing is programmed",
            || evidence(&api),
            || {
                let entries = api.get("ipnode a")["status"]["addresses"].clone();
                entries.as_array().is_none_or(Vec::is_empty).then_some(())
            },
        );
    });
    world.expect_sources(&[X]);
}

/// The outcome of the probe is also an Event.
fn expect_event(api: &Api<'_>) {
    eventually(
        "an Event has the source address that the partner sees",
        || evidence(api),
        || {
            let events = api.kubectl("get events -A -o json");
            let expected = format!("{ECHO} sees {X} (round trip ");
            (events.contains("\"Verified\"") && events.contains(&expected)).then_some(())
        },
    );
}

/// Ends the control plane.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The folder of the cluster, the id of the subnet, and the port of the API server.
type Started = (String, String, u16);

fn run_control_plane(world: &World, started: &mpsc::Sender<Started>, stop: &AtomicBool) {
    let runtime = runtime_in(world.name("control"));
    runtime.block_on(control(world, started, stop));
}

/// Starts the control plane. Then makes the VPC deliver as EC2 has assigned, until `stop` is set.
async fn control(world: &World, started: &mpsc::Sender<Started>, stop: &AtomicBool) {
    // The CNI gives pods addresses of the VPC.
    let options = ClusterOptions {
        pod_cidr: "10.77.0.64/27".to_owned(),
        ..ClusterOptions::default()
    };
    let cluster = Cluster::start(options).await;
    let subnet = cluster.add_subnet("203.0.113.0/24").await;
    let mut interfaces = BTreeMap::new();
    for name in NODES {
        let node = cluster
            .add_node(NodeSpec::new(name).interface(&subnet))
            .await;
        let mac = cluster.ec2().mac_of(&node.interfaces[0]).await;
        world.run(name, &format!("ip link set eth1 address {mac}"));
        interfaces.insert(node.interfaces[0].clone(), name);
    }
    let mooring = Mooring::start(&cluster, MooringOptions::default()).await;
    let port = cluster.url().rsplit(':').next().unwrap().parse().unwrap();
    let folder = cluster.folder().display().to_string();
    started.send((folder, subnet.id.clone(), port)).unwrap();
    // Each call is answered only after the VPC delivers accordingly.
    let done = ["AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"];
    for action in done {
        cluster
            .ec2()
            .fault(Fault::hold_after().of(action).forever())
            .await;
    }
    let mut on = None;
    while !stop.load(Ordering::Relaxed) {
        let held = cluster.ec2().held().await;
        let now = cluster.ec2().address_on(X).await;
        let now = now.map(|interface| interfaces[&interface]);
        world.deliver(X, &mut on, now);
        // There is only one address, so there is one call at a time.
        if !held.is_empty() {
            cluster.ec2().release_all().await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(mooring);
}

fn make_block(api: &Api<'_>, subnet: &str) {
    let version = "ip.wgtwo.com/v1alpha1";
    api.apply(&json!({ "apiVersion": version, "kind": "IPBlock", "metadata": { "name": "partners" }, "spec": {
        "cidr": "203.0.113.8/29", "subnetID": subnet, "allowedNamespaces": ["default"],
        "node": {
            "routes": [{ "to": "198.51.100.0/24" }], "probe": { "target": ECHO, "interval": "5s" },
        },
    }}));
    api.kubectl("wait --for=condition=Ready --timeout=20s ipblock/partners");
    api.apply(
        &json!({ "apiVersion": version, "kind": "IP", "metadata": { "name": "partner" },
        "spec": { "address": X, "allowedNamespaces": ["*"] } }),
    );
    api.kubectl("wait --for=condition=Reserved --timeout=20s ip/partner");
}

fn make_pod(api: &Api<'_>, name: &str, node: &str) {
    api.apply(&json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "annotations": { "ip.wgtwo.com/ip": "partner" } },
        "spec": {
            "nodeSelector": { "kubernetes.io/hostname": node },
            "containers": [{ "name": "main", "image": "registry.example/main:1" }],
        } }));
}

fn is_ready(api: &Api<'_>, pod: &str) -> Option<bool> {
    let pod = api.get(&format!("pod {pod}"));
    Some(condition(&pod, "Ready")["status"].as_str()? == "True")
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == kind);
    found.cloned().unwrap_or_default()
}

fn evidence(api: &Api<'_>) -> String {
    let objects = api.kubectl("get ips,ipblocks,ipnodes,pods,events -o yaml");
    let logs: Vec<String> = NODES.iter().map(|node| api.log(node)).collect();
    format!("{objects}\n{}", logs.join("\n"))
}
