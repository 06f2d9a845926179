use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use mooring_cluster::{Cluster, ClusterOptions};
use serde_json::{Value, json};

use crate::world::inside::enter_network;
use crate::world::node::one_pod;
use crate::world::traffic::Protocol;
use crate::world::{Backend, Node, PARTNER, World, X, eventually};

/// The command `mooring node`, with the rights of its role and the token of its node, programs what a real API server
/// shows, says so in the `IPNode` of its node, and can write no other.
pub fn the_node_part_reports_what_it_has_programmed(backend: Backend) {
    let world = World::new(backend);
    let (node, _) = one_pod(&world);
    let api = Api::start(node);
    api.apply_manifests();
    api.make_objects();
    let mut part = api.start_node_part();
    let evidence = || {
        format!(
            "{}\n{}",
            api.log(),
            api.kubectl("get ipnodes,ips,ipblocks -o yaml")
        )
    };
    let works = || (world.ask("client", Protocol::Tcp, PARTNER) == Ok(X.to_owned())).then_some(());
    eventually("the address works", evidence, works);
    let programmed = || {
        let said = api.ipnode();
        let entry = &said["status"]["addresses"][0];
        let right = entry["ip"] == "one"
            && entry["address"] == X
            && entry["state"] == "Programmed"
            && entry["podUID"] == api.pod_uid()
            && entry["claim"].as_str()?.contains("eni-1");
        right.then(|| said.clone())
    };
    let said = eventually("the IPNode says so", evidence, programmed);
    assert_eq!(
        said["metadata"]["ownerReferences"][0]["name"], "a",
        "{said}"
    );
    assert!(said["status"]["heartbeatTime"].is_string(), "{said}");
    let memory = std::fs::read_to_string(format!("/proc/{}/status", part.id())).unwrap();
    let memory: Vec<_> = memory
        .lines()
        .filter(|line| line.starts_with("Rss"))
        .collect();
    println!("memory of the node part: {memory:?}");

    // An IPNode that was edited by hand is written again.
    api.kubectl(
        "patch ipnode a --subresource=status --type=merge -p '{\"status\":{\"addresses\":[]}}'",
    );
    eventually("the IPNode is right again", evidence, programmed);

    // Another node's IPNode is refused, also to a role that would let it: by the policy.
    api.kubectl("create clusterrole all --verb=* --resource=ipnodes.ip.wgtwo.com,ipnodes.ip.wgtwo.com/status");
    api.kubectl("create clusterrolebinding all --clusterrole=all --serviceaccount=mooring-node:mooring-node");
    let refused = api.as_node_part(
        "patch ipnode b --subresource=status --type=merge -p '{\"status\":{\"version\":\"x\"}}'",
    );
    assert!(
        refused.contains("only by the node part of that node"),
        "{refused}"
    );
    let object = r#"{"apiVersion":"ip.wgtwo.com/v1alpha1","kind":"IPNode","metadata":{"name":"c"},"spec":{}}"#;
    node.run(&format!("echo '{object}' > {}/other.json", api.folder));
    let refused = api.as_node_part(&format!("create -f {}/other.json", api.folder));
    assert!(
        refused.contains("only by the node part of that node"),
        "{refused}"
    );

    // Killed, the packets pass as before; started again, it follows the objects.
    part.kill().unwrap();
    part.wait().unwrap();
    assert_eq!(
        world.ask("client", Protocol::Tcp, PARTNER),
        Ok(X.to_owned())
    );
    let mut part = api.start_node_part();
    api.kubectl(
        "patch ip one --subresource=status --type=merge -p '{\"status\":{\"assigned\":false}}'",
    );
    eventually("the pod is closed", evidence, || {
        world
            .ask("client", Protocol::Tcp, PARTNER)
            .is_err()
            .then_some(())
    });
    eventually("the IPNode says what is missing", evidence, || {
        let entry = api.ipnode()["status"]["addresses"][0].clone();
        let said = entry["message"]
            .as_str()
            .is_some_and(|message| message.contains("EC2"));
        (entry["state"] == "Waiting" && said).then_some(())
    });
    part.kill().unwrap();
    part.wait().unwrap();
    node.run(&format!(
        "{} node --cleanup 2>&1",
        env!("CARGO_BIN_EXE_mooring")
    ));
    assert!(!node.run("nft list tables").contains("mooring"));
}

/// A real API server on the loopback interface of the node, where the node part reaches it.
struct Api<'a> {
    node: Node<'a>,
    folder: String,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<'a> Api<'a> {
    fn start(node: Node<'a>) -> Self {
        let (started, folder) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let name = node.world.name(node.name);
        let thread = thread::spawn(move || {
            enter_network(&name);
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .on_thread_start(move || enter_network(&name))
                .enable_all()
                .build()
                .unwrap();
            let cluster = runtime.block_on(Cluster::start(ClusterOptions::default()));
            started
                .send(cluster.folder().display().to_string())
                .unwrap();
            let _ = stopped.recv();
            drop(cluster);
        });
        let folder = folder.recv().expect("the API server starts");
        Self {
            node,
            folder,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn run(&self, kubeconfig: &str, arguments: &str) -> String {
        let kubectl = mooring_cluster::control_plane_binary("kubernetes", "kubectl");
        let command = format!(
            "{} --kubeconfig {}/{kubeconfig} {arguments}",
            kubectl.display(),
            self.folder
        );
        self.node.run(&command)
    }

    fn kubectl(&self, arguments: &str) -> String {
        self.run("kubeconfig", arguments)
    }

    /// What kubectl says with the token of the node part, whether it is refused or not.
    fn as_node_part(&self, arguments: &str) -> String {
        self.run("node-part", &format!("{arguments} 2>&1 || true"))
    }

    fn apply_manifests(&self) {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/node");
        for file in [
            "namespace",
            "service_account",
            "cluster_role",
            "cluster_role_binding",
            "own_node",
        ] {
            self.kubectl(&format!("apply -f {}/{file}.yaml", config.display()));
        }
        for node in ["a", "b"] {
            self.apply(
                &json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } }),
            );
        }
        self.apply(&json!({ "apiVersion": "ip.wgtwo.com/v1alpha1", "kind": "IPNode", "metadata": { "name": "b" }, "spec": {} }));
        let token = self.kubectl(
            "create token mooring-node -n mooring-node --bound-object-kind Node --bound-object-name a",
        );
        self.node.run(&format!(
            "sed -e '/client-certificate-data:/d' -e '/client-key-data:/d' -e '/client-certificate:/d' -e '/client-key:/d' \
               -e '/^ *token:/d' {0}/kubeconfig > {0}/node-part",
            self.folder
        ));
        let user = self.run("node-part", "config view -o jsonpath='{.users[0].name}'");
        self.run(
            "node-part",
            &format!("config set-credentials {user} --token {token}"),
        );
    }

    fn apply(&self, object: &Value) {
        self.kubectl(&format!("apply -f - <<'END'\n{object}\nEND\n"));
    }

    fn make_objects(&self) {
        let version = "ip.wgtwo.com/v1alpha1";
        self.apply(&json!({ "apiVersion": version, "kind": "IPBlock", "metadata": { "name": "partners" }, "spec": {
            "cidr": "203.0.113.8/29", "subnetID": "subnet-0123456789abcdef0",
            "node": { "routes": [{ "to": "198.51.100.0/24" }] },
        }}));
        self.status("ipblock partners", &json!({ "subnetCIDRs": ["203.0.113.0/24"], "capacity": 0, "reserved": 0, "attached": 0, "foreign": 0, "free": 0, "nodes": 0 }));
        self.apply(
            &json!({ "apiVersion": version, "kind": "IP", "metadata": { "name": "one" },
            "spec": { "address": X, "block": "partners" } }),
        );
        self.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": "default" } }));
        self.apply(&json!({ "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "client", "namespace": "default", "labels": { "ip.wgtwo.com/ip": "one" },
                "annotations": { "ip.wgtwo.com/ip": "one" } },
            "spec": { "nodeName": "a", "containers": [{ "name": "main", "image": "registry.example/main:1" }] } }));
        self.status("pod client", &json!({ "podIP": "10.77.0.20", "podIPs": [{ "ip": "10.77.0.20" }], "phase": "Running" }));
        self.status("ip one", &json!({
            "address": X, "block": "partners", "claimed": true, "assigned": true, "pod": "default/client",
            "podUID": self.pod_uid(), "node": "a", "networkInterfaceID": "eni-1",
            "macAddress": self.node.world.mac("a", "eth1"),
        }));
    }

    fn status(&self, what: &str, status: &Value) {
        let patch = json!({ "status": status });
        self.kubectl(&format!(
            "patch {what} --subresource=status --type=merge -p '{patch}'"
        ));
    }

    fn pod_uid(&self) -> String {
        self.kubectl("get pod client -o jsonpath='{.metadata.uid}'")
    }

    fn ipnode(&self) -> Value {
        serde_json::from_str(&self.kubectl("get ipnode a -o json 2>/dev/null || echo null"))
            .unwrap()
    }

    fn start_node_part(&self) -> Child {
        let (name, folder) = (self.node.world.name("a"), self.folder.clone());
        // A process that is started by a thread in the namespace is there as well.
        thread::spawn(move || {
            enter_network(&name);
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(format!("{folder}/log"))
                .unwrap();
            Command::new(env!("CARGO_BIN_EXE_mooring"))
                .args(["node", "--node-name", "a"])
                .env("KUBECONFIG", format!("{folder}/node-part"))
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap()
        })
        .join()
        .unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(format!("{}/log", self.folder)).unwrap_or_default()
    }
}

impl Drop for Api<'_> {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}
