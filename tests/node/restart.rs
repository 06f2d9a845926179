use std::io::{Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use mooring::node::kernel::KernelEvents;
use mooring::node::reconcile::{NodeReconciler, Reports};
use mooring::node::reconcile_loop::run;
use mooring::node::settings::NodeSettings;
use tokio::sync::watch;

use crate::node_part::{RunNodePart as _, runtime};
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, World, X, Y, enter_network, eventually, tcp};

/// The variable that is set in a process that is only a node part. Its value is the namespace and the MAC address of
/// the ENI.
const CHILD: &str = "MOORING_NODE_TEST_CHILD";

/// Runs a node part until it is killed, if this process was started as one.
pub fn child() -> Option<ExitCode> {
    let reported = std::env::var(CHILD).ok()?;
    let (network, mac) = reported.split_once(' ')?;
    enter_network(network);
    let mut objects = crate::objects::only_block("a");
    objects = crate::objects::with_pod(objects, "client", Some("10.77.0.20"), "one");
    objects = crate::objects::claimed(objects, "a", mac, "one", X, "client");
    objects = crate::objects::with_pod(objects, "host", None, "two");
    objects = crate::objects::claimed(objects, "a", mac, "two", Y, "host");
    runtime().block_on(async {
        let (_sender, objects) = watch::channel(Some(objects));
        let (report_sender, mut reports) = watch::channel(Reports::new());
        let reconciler = NodeReconciler::open(NodeSettings::default()).unwrap();
        tokio::spawn(async move {
            while reports.changed().await.is_ok() {
                println!("{:?}", reports.borrow_and_update());
            }
        });
        run(
            reconciler,
            KernelEvents::open().unwrap(),
            objects,
            report_sender,
        )
        .await
        .unwrap();
    });
    Some(ExitCode::SUCCESS)
}

/// The command that runs this program as the node part of node `a`. It prints its reports.
pub fn node_part(world: &World) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let reported = format!("{} {}", world.name("a"), world.mac("a", "eth1"));
    command.env(CHILD, reported);
    command
}

/// A connection in each direction continues while the node part is killed and restarted repeatedly, and while
/// it is away.
pub fn connections_survive_the_end_of_the_node_part(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.reconcile(&objects);
    let evidence = || node.run("nft list ruleset; conntrack -L 2>&1");
    let open = |from: &'static str, to: &'static str| {
        world
            .spawn(from, move || tcp(to, "0.0.0.0"))
            .join()
            .unwrap()
            .unwrap_or_else(|error| panic!("{from} to {to}: {error}\n{}", evidence()))
    };
    let mut connections = [open("client", PARTNER), open("partner", X)];
    let mut carry = || {
        for (stream, _) in &mut connections {
            // Longer than a busy machine takes.
            let limit = Some(Duration::from_secs(10));
            stream.set_read_timeout(limit).unwrap();
            let sent = [7; 16_384];
            for _ in 0..20 {
                stream.write_all(&sent).unwrap();
                let mut back = [0; 16_384];
                if let Err(error) = stream.read_exact(&mut back) {
                    panic!("{error}\n{}", evidence());
                }
            }
        }
    };
    carry();
    for round in 0..5 {
        let mut child = node_part(&world).stdout(Stdio::null()).spawn().unwrap();
        // In every second round with damage, so that it is killed during or after a repair.
        if round % 2 == 1 {
            node.run("nft delete element ip mooring leaving { 10.77.0.20 }");
        }
        carry();
        eventually("the node part repairs the map", evidence, || {
            node.run("nft list map ip mooring leaving")
                .contains("10.77.0.20")
                .then_some(())
        });
        child.kill().unwrap();
        child.wait().unwrap();
        carry();
    }
    world.expect_sources(&[X]);
}
