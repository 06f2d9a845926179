use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, tcp};

/// The chains of an earlier version, instead of the chain `connections`.
const EARLIER: &str = "nft -f - <<'END'
add chain ip mooring arrive { type filter hook prerouting priority -160; }
add rule ip mooring arrive ct state new iifname . ip daddr vmap @arrived
add chain ip mooring leave { type filter hook prerouting priority -85; }
add rule ip mooring leave ct state new ct direction original fib saddr . iif oif exists ip saddr vmap @leaving
add rule ip mooring leave ct mark & 0xf0000 vmap @restore
delete chain ip mooring connections
END";

/// A version with other chains takes over the table: connections continue, and no packet has a wrong source meanwhile.
pub fn connections_survive_an_upgrade_that_changes_the_chains(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.reconcile(&objects);
    // Sorted, because the kernel lists a new chain last.
    let table = || {
        let listing = node.run("nft -s list table ip mooring");
        let mut lines: Vec<String> = listing.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let right = table();
    node.run(EARLIER);
    let earlier = node.run("nft -s list table ip mooring");
    let open = |from: &'static str, to: &'static str| {
        world
            .spawn(from, move || tcp(to, "0.0.0.0"))
            .join()
            .unwrap()
            .unwrap_or_else(|error| panic!("{from} to {to}: {error}\n{earlier}"))
    };
    let mut connections = [open("client", PARTNER), open("partner", X)];
    let upgraded = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| {
            for (stream, _) in &mut connections {
                stream
                    .set_read_timeout(Some(Duration::from_secs(10)))
                    .unwrap();
            }
            // Sends once more after the upgrade.
            loop {
                let last = upgraded.load(Ordering::Acquire);
                for (stream, _) in &mut connections {
                    let sent = [7; 16_384];
                    stream.write_all(&sent).unwrap();
                    let mut back = [0; 16_384];
                    stream.read_exact(&mut back).unwrap();
                }
                if last {
                    break;
                }
            }
        });
        let opening = scope.spawn(|| {
            while !upgraded.load(Ordering::Acquire) {
                // The connection can be refused while the guard is closed. The partner accepts no other source.
                let _ = world.ask("client", Protocol::Tcp, PARTNER);
            }
        });
        node.reconcile(&objects);
        upgraded.store(true, Ordering::Release);
        carrying.join().unwrap();
        opening.join().unwrap();
    });
    assert_eq!(table(), right);
    assert_eq!(
        world.ask("client", Protocol::Tcp, PARTNER).as_deref(),
        Ok(X)
    );
    world.expect_sources(&[X]);
}
