use mooring::node::kernel::Part;
use mooring::node::objects::Objects;

use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, with_ip, with_pod, with_probe};
use mooring_cluster::network::{Backend, Node, PARTNER, Protocol, World, X, Y};

/// Rules, routes, tables, chains and settings of other programs are exactly the same after programming and after
/// cleanup, even if they use a number or an address of Mooring. After cleanup nothing of Mooring is left.
pub fn state_of_other_programs_is_not_changed(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    node.pod("other", "10.77.0.21");
    world.assign(Y, "a");
    let objects = with_pod(objects, "host", None, "two");
    let objects = with_ip(objects, node, "two", Y, "host");
    let objects = with_probe(objects, "198.51.100.9:7001");
    // State of other programs with the same values as ours: the priority, a table, the protocol, an address, the table
    // name.
    node.run(&format!(
        "ip rule add pref 600 from 10.77.0.99 lookup main
         ip rule add pref 599 from 10.77.0.99 lookup main suppress_prefixlength 31
         ip rule add pref 599 fwmark 0x20000/0xf0000 iif eth1 lookup main suppress_prefixlength 31
         ip rule add pref 601 fwmark 0x10000/0x10000 lookup main proto 78
         ip route add 192.0.2.128/25 via 10.77.0.1 table 10601
         ip route add 192.0.2.128/25 via 10.77.0.1 table 777 proto 78
         ip addr add {X}/32 dev lo
         ip addr add 10.77.0.77/32 dev eth1
         nft add table inet mooring
         nft add chain inet mooring theirs"
    ));
    let before = foreign(node);
    let sysctls = sysctls(node);
    node.reconcile(&objects);
    same(&before, &foreign(node), "after programming");
    assert!(node.run("ip -4 addr show eth1").contains(Y));
    assert_eq!(
        node.run("cat /proc/sys/net/ipv4/conf/eth1/rp_filter"),
        "2\n"
    );
    let _ = world.ask("client", Protocol::Tcp, PARTNER);

    let outcome = node.reconcile(&Objects::default());
    assert!(!outcome.changes.is_empty());
    same(&before, &foreign(node), "after cleanup");
    same(&sysctls, &self::sysctls(node), "settings after cleanup");
    same(&before, &everything(node), "nothing of ours is left");
    assert!(node.reconcile(&Objects::default()).changes.is_empty());
}

/// After the last block with `spec.node` is gone, a node part that goes on to run leaves alone what users set.
pub fn a_clean_node_belongs_to_its_users(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    let file = "/proc/sys/net/ipv4/conf/eth1/rp_filter";
    let before = node.run(&format!("cat {file}"));
    let other = if before.trim() == "1" { "0" } else { "1" };
    node.with(|runtime, reconciler| {
        let mut reconcile = |objects: &Objects| {
            let outcome = runtime.block_on(reconciler.reconcile(objects, Part::All));
            let outcome = outcome.unwrap();
            assert!(outcome.errors.is_empty(), "{:#?}", outcome.errors);
            outcome.changes
        };
        reconcile(&objects);
        assert_eq!(node.run(&format!("cat {file}")), "2\n");
        assert!(!reconcile(&Objects::default()).is_empty());
        assert_eq!(node.run(&format!("cat {file}")), before);

        node.run(&format!("echo {other} > {file}"));
        let changes = reconcile(&Objects::default());
        assert!(changes.is_empty(), "{changes:#?}");

        // What a user has set meanwhile is what a later cleanup restores.
        reconcile(&objects);
        reconcile(&Objects::default());
        assert_eq!(node.run(&format!("cat {file}")).trim(), other);
    });
}

/// Fails with the lines that are not in both.
fn same(before: &str, after: &str, when: &str) {
    let gone = before
        .lines()
        .filter(|line| !after.lines().any(|other| other == *line));
    let new = after
        .lines()
        .filter(|line| !before.lines().any(|other| other == *line));
    let gone: Vec<_> = gone.collect();
    let new: Vec<_> = new.collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "{when}\ngone: {gone:#?}\nnew: {new:#?}"
    );
}

/// Without the flag of an interface that is new: the kernel removes it a moment later.
fn everything(node: Node<'_>) -> String {
    node.run(
        "nft list ruleset; { iptables-legacy-save | grep -v '^#' || true; }; ip rule; \
         ip route show table all | sed 's/ linkdown//'; ip -4 addr; ip -6 rule; ip -6 addr | grep -v valid_lft",
    )
    .lines()
    .map(|line| match line.find("packets ") {
        Some(at) => format!("{}\n", &line[..at]),
        None => format!("{}\n", without_counters(line)),
    })
    .collect()
}

/// Removes the counters of chains, which change with every packet.
fn without_counters(line: &str) -> &str {
    match line.find(" [") {
        Some(at) if line.starts_with(':') => &line[..at],
        _ => line,
    }
}

/// Everything except the state of Mooring.
fn foreign(node: Node<'_>) -> String {
    let (mut kept, mut ours) = (String::new(), false);
    for line in everything(node).lines() {
        ours |= line == "table ip mooring {";
        let priority = line.starts_with("600:") || line.starts_with("599:");
        let numbers = (priority || line.contains("table 106")) && line.contains("proto 78");
        let address =
            line.contains(&format!("inet {Y}/32")) || line.contains(&format!("local {Y} "));
        if !ours && !numbers && !address {
            kept.push_str(line);
            kept.push('\n');
        }
        ours &= line != "}";
    }
    kept
}

fn sysctls(node: Node<'_>) -> String {
    node.run("grep -r . /proc/sys/net/ipv4 2>/dev/null | grep -v -e dst_entries -e tcp_mem -e random -e fib_multipath_hash_seed | sort")
}
