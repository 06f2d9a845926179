//! A real API server in one of the network namespaces, and node parts that use it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

use super::World;
use super::inside::{enter_network, shell, within};
use crate::apply;
use crate::paths::{control_plane_binary, repository, workspace_binary};

/// An API server that runs in a namespace.
pub struct Api<'a> {
    /// The VPC that contains it.
    pub world: &'a World,
    /// The network namespace. None: that of this process.
    pub at: Option<&'static str>,
    /// The folder of the cluster.
    pub folder: String,
}

/// A process `mooring node`. It is killed when this is dropped.
pub struct NodePart(Child);

impl NodePart {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for NodePart {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Api<'_> {
    /// Runs kubectl with a kubeconfig of the folder, and returns what it prints.
    pub fn run(&self, kubeconfig: &str, arguments: &str) -> String {
        let kubectl = control_plane_binary("kubernetes", "kubectl");
        let command = format!(
            "{} --kubeconfig {}/{kubeconfig} {arguments}",
            kubectl.display(),
            self.folder
        );
        self.shell(&command)
    }

    /// Runs a shell command in the network namespace of the API server.
    fn shell(&self, command: &str) -> String {
        match self.at {
            Some(name) => self.world.run(name, command),
            None => shell(command),
        }
    }

    /// Runs kubectl as the administrator.
    pub fn kubectl(&self, arguments: &str) -> String {
        self.run("kubeconfig", arguments)
    }

    /// Applies an object.
    pub fn apply(&self, object: &Value) {
        self.kubectl(&format!("apply -f - <<'END'\n{object}\nEND\n"));
    }

    /// An object as JSON. Null if it does not exist.
    pub fn get(&self, what: &str) -> Value {
        let shown = self.kubectl(&format!("get {what} -o json 2>/dev/null || echo null"));
        serde_json::from_str(&shown).unwrap()
    }

    /// The objects of `config/node` except the `DaemonSet`, because there are no containers here.
    pub fn install_node_part(&self) {
        for object in apply::objects(&repository().join("config/node")) {
            if object["kind"] != "DaemonSet" {
                self.apply(&apply::without_the_named_rule(&object));
            }
        }
    }

    /// Makes the kubeconfig of the node part of a node, with a token that names the node.
    pub fn authorize_node_part(&self, node: &str) {
        let token = self.kubectl(&format!(
            "create token mooring-node -n mooring-node --bound-object-kind Node --bound-object-name {node}"
        ));
        let kubeconfig = format!("node-part-{node}");
        self.shell(&format!(
            "sed -e '/client-certificate-data:/d' -e '/client-key-data:/d' -e '/client-certificate:/d' -e '/client-key:/d' \
               -e '/^ *token:/d' {0}/kubeconfig > {0}/{kubeconfig}",
            self.folder
        ));
        let user = self.run(&kubeconfig, "config view -o jsonpath='{.users[0].name}'");
        self.run(
            &kubeconfig,
            &format!("config set-credentials {user} --token {token}"),
        );
    }

    /// Starts `mooring node` in the namespace of a node, with the only capability that `config/node` gives it.
    pub fn start_node_part(&self, node: &'static str) -> NodePart {
        let (name, folder) = (self.world.name(node), self.folder.clone());
        // A process that a thread in the namespace starts is in the namespace too.
        let started = thread::spawn(move || {
            enter_network(&name);
            let log = std::fs::File::options()
                .create(true)
                .append(true)
                .open(format!("{folder}/log-{node}"))
                .unwrap();
            Command::new("setpriv")
                .args([
                    "--inh-caps=-all",
                    "--bounding-set=-all,+net_admin",
                    "--no-new-privs",
                ])
                .arg(workspace_binary("mooring", "MOORING_BIN"))
                .args(["node", "--node-name", node])
                .env("KUBECONFIG", format!("{folder}/node-part-{node}"))
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap()
        });
        NodePart(started.join().unwrap())
    }

    /// The log of the node part of a node.
    pub fn log(&self, node: &str) -> String {
        std::fs::read_to_string(format!("{}/log-{node}", self.folder)).unwrap_or_default()
    }

    /// Forwards connections, so that programs in another namespace reach the API server at the same address as here.
    pub fn reachable_from(&self, name: &str, port: u16) {
        let listener = within(&self.world.name(name), || {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap()
        });
        let here = self.at.map(|name| self.world.name(name));
        thread::spawn(move || {
            for inner in listener.incoming() {
                let (Ok(inner), here) = (inner, here.clone()) else {
                    continue;
                };
                thread::spawn(move || {
                    if let Some(here) = here {
                        enter_network(&here);
                    }
                    if let Ok(outer) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
                        join(inner, outer);
                    }
                });
            }
        });
    }
}

/// Copies data in both directions until both sides have ended.
fn join(inner: TcpStream, outer: TcpStream) {
    let (Ok(inner_again), Ok(outer_again)) = (inner.try_clone(), outer.try_clone()) else {
        return;
    };
    let back = thread::spawn(move || copy(outer_again, inner_again));
    copy(inner, outer);
    let _ = back.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16_384];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}
