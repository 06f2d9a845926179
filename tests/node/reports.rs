use std::sync::mpsc;
use std::thread;

use mooring_cluster::{Cluster, ClusterOptions};
use serde_json::{Value, json};

use crate::objects::one_pod;
use mooring_cluster::network::{
    Api, Backend, PARTNER, Protocol, World, X, Y, eventually, runtime_in,
};

/// The command `mooring node`, with the rights of its role and the token of its node, programs the objects of a real
/// API server, reports this in the `IPNode` of its node, and cannot write another `IPNode`.
pub fn the_node_part_reports_what_it_programmed(backend: Backend) {
    let world = World::new(backend);
    let (node, _) = one_pod(&world);
    let server = Server::start(&world.name("a"));
    let api = Api {
        world: &world,
        at: Some("a"),
        folder: server.folder.clone(),
    };
    api.install_node_part();
    make_objects(&api);
    api.authorize_node_part("a");
    let part = api.start_node_part("a");
    let evidence = || {
        format!(
            "{}\n{}",
            api.log("a"),
            api.kubectl("get ipnodes,ips,ipblocks -o yaml")
        )
    };
    let works = || (world.ask("client", Protocol::Tcp, PARTNER) == Ok(X.to_owned())).then_some(());
    eventually("the address works", evidence, works);
    let programmed = || {
        let ip_node = api.get("ipnode a");
        let entry = &ip_node["status"]["addresses"][0];
        let right = entry["ip"] == "one"
            && entry["address"] == X
            && entry["state"] == "Programmed"
            && entry["podUID"] == pod_uid(&api)
            && entry["claim"] == "7";
        right.then(|| ip_node.clone())
    };
    let ip_node = eventually("the IPNode reports it", evidence, programmed);
    assert_eq!(
        ip_node["metadata"]["ownerReferences"][0]["name"], "a",
        "{ip_node}"
    );
    assert!(ip_node["status"]["heartbeatTime"].is_string(), "{ip_node}");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(ip_node["status"]["bootID"], boot.trim(), "{ip_node}");
    let memory = std::fs::read_to_string(format!("/proc/{}/status", part.id())).unwrap();
    let memory: Vec<_> = memory
        .lines()
        .filter(|line| line.starts_with("Rss"))
        .collect();
    println!("verified: memory of the node part: {memory:?}");

    another_version(&api, &evidence, &programmed);

    // The policy refuses writes to the IPNode of another node, even if a role allows them.
    api.kubectl("create clusterrole all --verb=* --resource=ipnodes.ip.wgtwo.com,ipnodes.ip.wgtwo.com/status");
    api.kubectl("create clusterrolebinding all --clusterrole=all --serviceaccount=mooring-node:mooring-node");
    let refused = as_node_part(
        &api,
        "patch ipnode b --subresource=status --type=merge -p '{\"status\":{\"version\":\"x\"}}'",
    );
    assert!(
        refused.contains("only by the node part of that node"),
        "{refused}"
    );
    let object = r#"{"apiVersion":"ip.wgtwo.com/v1alpha1","kind":"IPNode","metadata":{"name":"c"},"spec":{}}"#;
    node.run(&format!("echo '{object}' > {}/other.json", api.folder));
    let refused = as_node_part(&api, &format!("create -f {}/other.json", api.folder));
    assert!(
        refused.contains("only by the node part of that node"),
        "{refused}"
    );

    // After the node part is killed, packets pass as before. After a new start, it follows the objects.
    drop(part);
    assert_eq!(
        world.ask("client", Protocol::Tcp, PARTNER),
        Ok(X.to_owned())
    );
    let part = api.start_node_part("a");
    api.kubectl(
        "patch ip one --subresource=status --type=merge -p '{\"status\":{\"assigned\":false}}'",
    );
    eventually("the pod is closed", evidence, || {
        world
            .ask("client", Protocol::Tcp, PARTNER)
            .is_err()
            .then_some(())
    });
    eventually("the IPNode reports what is missing", evidence, || {
        let entry = api.get("ipnode a")["status"]["addresses"][0].clone();
        let names_ec2 = entry["message"]
            .as_str()
            .is_some_and(|message| message.contains("EC2"));
        (entry["state"] == "Waiting" && names_ec2).then_some(())
    });
    drop(part);
    node.run(&format!(
        "{} node --cleanup 2>&1",
        env!("CARGO_BIN_EXE_mooring")
    ));
    assert!(!node.run("nft list tables").contains("mooring"));
}

/// A node part of another version runs too, as during an upgrade. It writes an entry, a field and a state that this
/// version does not know. They do not disturb, and this version writes its own status again.
fn another_version(
    api: &Api<'_>,
    evidence: &impl Fn() -> String,
    programmed: &impl Fn() -> Option<Value>,
) {
    let beside = api.start_node_part("a");
    let other = json!({ "version": "99.0.0", "addresses": [
        { "ip": "one", "address": X, "podUID": "later", "claim": "8", "state": "Draining", "lane": 3 },
        { "ip": "other", "address": Y, "podUID": "later", "claim": "9", "state": "Draining" },
    ] });
    status(api, "ipnode a", &other);
    assert_eq!(
        api.world.ask("client", Protocol::Tcp, PARTNER),
        Ok(X.to_owned())
    );
    eventually("the IPNode is right again", evidence, || {
        let ip_node = programmed()?;
        let entries = ip_node["status"]["addresses"].as_array()?.len();
        (entries == 1 && ip_node["status"]["version"] == env!("CARGO_PKG_VERSION")).then_some(())
    });
    drop(beside);
}

/// A real API server on the loopback interface of the node, where the node part reaches it.
struct Server {
    folder: String,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn start(name: &str) -> Self {
        let (started, folder) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let name = name.to_owned();
        let thread = thread::spawn(move || {
            let runtime = runtime_in(name);
            let cluster = runtime.block_on(Cluster::start(ClusterOptions::default()));
            started
                .send(cluster.folder().display().to_string())
                .unwrap();
            let _ = stopped.recv();
            drop(cluster);
        });
        Self {
            folder: folder.recv().expect("the API server starts"),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// The output of kubectl with the token of the node part, refused or not.
fn as_node_part(api: &Api<'_>, arguments: &str) -> String {
    api.run("node-part-a", &format!("{arguments} 2>&1 || true"))
}

fn make_objects(api: &Api<'_>) {
    for node in ["a", "b"] {
        api.apply(&json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } }));
    }
    let version = "ip.wgtwo.com/v1alpha1";
    api.apply(&json!({ "apiVersion": version, "kind": "IPNode", "metadata": { "name": "b" }, "spec": {} }));
    api.apply(&json!({ "apiVersion": version, "kind": "IPBlock", "metadata": { "name": "partners" }, "spec": {
        "cidr": "203.0.113.8/29", "subnetID": "subnet-0123456789abcdef0",
        "node": { "routes": [{ "to": "198.51.100.0/24" }] },
    }}));
    status(
        api,
        "ipblock partners",
        &json!({ "subnetCIDRs": ["203.0.113.0/24"], "capacity": 0, "reserved": 0, "attached": 0, "foreign": 0, "free": 0, "nodes": 0 }),
    );
    api.apply(
        &json!({ "apiVersion": version, "kind": "IP", "metadata": { "name": "one" },
        "spec": { "address": X, "block": "partners" } }),
    );
    api.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": "default" } }));
    api.apply(&json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "client", "namespace": "default", "labels": { "ip.wgtwo.com/ip": "one" },
            "annotations": { "ip.wgtwo.com/ip": "one" } },
        "spec": { "nodeName": "a", "containers": [{ "name": "main", "image": "registry.example/main:1" }] } }));
    status(
        api,
        "pod client",
        &json!({ "podIP": "10.77.0.20", "podIPs": [{ "ip": "10.77.0.20" }], "phase": "Running" }),
    );
    status(
        api,
        "ip one",
        &json!({
            "address": X, "block": "partners", "claimed": true, "assigned": true, "pod": "default/client",
            "podUID": pod_uid(api), "claimID": "7", "node": "a", "networkInterfaceID": "eni-1",
            "macAddress": api.world.mac("a", "eth1"),
        }),
    );
}

fn status(api: &Api<'_>, what: &str, status: &Value) {
    let patch = json!({ "status": status });
    api.kubectl(&format!(
        "patch {what} --subresource=status --type=merge -p '{patch}'"
    ));
}

fn pod_uid(api: &Api<'_>) -> String {
    api.kubectl("get pod client -o jsonpath='{.metadata.uid}'")
}
