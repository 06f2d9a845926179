use std::collections::BTreeSet;
use std::time::Instant;

use mooring::node::desired::State;
use mooring::node::objects::Objects;

use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, with_ip, with_pod};
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, Y, eventually};

/// Other programs and users damage the state of the node part. Each damage is repaired, and afterwards the
/// address works.
pub fn every_damage_is_repaired(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    world.assign(Y, "a");
    let objects = with_pod(objects, "host", None, "two");
    let objects = with_ip(objects, node, "two", Y, "host");
    let running = node.start(objects.clone());
    let works = || {
        let right = world.ask("client", Protocol::Tcp, PARTNER) == Ok(X.to_owned())
            && world.ask("partner", Protocol::Tcp, X) == Ok(PARTNER.to_owned());
        right.then_some(())
    };
    let evidence = || node.run("nft list ruleset; ip rule; ip route show table all; ip -4 addr");
    eventually("the address works", evidence, works);
    let ours = || {
        state(&node.run("nft -s list table ip mooring || true; ip rule; ip route show table 10601; ip -4 addr show eth1; cat /proc/sys/net/ipv4/conf/eth1/rp_filter"))
    };
    let right = ours();

    for damage in [
        "ip rule del pref 600 fwmark 0x10000/0xf0000 table 10601",
        "ip route flush table 10601",
        "ip rule del pref 599 from 203.0.113.11",
        "ip rule del pref 599 fwmark 0x10000/0xf0000 iif eth1",
        "nft delete table ip mooring",
        "nft flush table ip mooring",
        "nft flush ruleset",
        "nft delete element ip mooring to_pod { 203.0.113.10 }",
        "nft insert rule ip mooring connections drop",
        "nft add chain ip mooring foreign",
        "nft add table ip mooring '{ flags dormant; }'",
        &format!("ip addr del {Y}/32 dev eth1"),
        "ip link set eth1 down; ip link set eth1 up",
        "echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter",
        "ip rule del pref 600 from 203.0.113.11; ip rule del pref 600 fwmark 0x10000/0xf0000; ip route flush table 10601; nft delete table ip mooring",
    ] {
        let begin = Instant::now();
        node.run(damage);
        eventually(damage, evidence, || (ours() == right).then_some(()));
        println!("{backend}: {damage}: {:?}", begin.elapsed());
        if damage == "nft flush ruleset" {
            // It also deleted the rules of the CNI, if they are in nftables.
            node.run("iptables-nft -t nat -F; true");
        }
        eventually("the address works again", evidence, works);
    }

    // Damages outside of the tables: connection tracking is flushed, and the pod gets another address.
    node.run("conntrack -F 2>&1");
    eventually("the address works without its connections", evidence, works);
    node.pod("moved", "10.77.0.25");
    let mut moved = objects;
    moved.pods.get_mut("uid-client").unwrap().addresses = vec!["10.77.0.25".parse().unwrap()];
    running.show(moved.clone());
    eventually("the pod works with another address", evidence, || {
        (world.ask("moved", Protocol::Tcp, PARTNER) == Ok(X.to_owned())
            && world.ask("partner", Protocol::Tcp, X) == Ok(PARTNER.to_owned()))
        .then_some(())
    });

    // Another ENI with another name replaces the first one.
    world.replace_eni("a");
    let mac = world.mac("a", "eth2").parse().unwrap();
    for ip in moved.ips.values_mut() {
        ip.claim.as_mut().unwrap().mac = Some(mac);
    }
    world.assign_to(X, "a", "eth2");
    running.show(moved);
    eventually("the address works on another interface", evidence, || {
        (world.ask("moved", Protocol::Tcp, PARTNER) == Ok(X.to_owned())
            && world.ask("partner", Protocol::Tcp, X) == Ok(PARTNER.to_owned()))
        .then_some(())
    });

    running.show(Objects {
        node: "a".to_owned(),
        ..Objects::default()
    });
    eventually("nothing of ours is left", evidence, || {
        (!evidence().contains("table ip mooring")).then_some(())
    });
}

/// Other programs also add the static addresses, before and while the node part runs. Traffic passes, or the report has
/// the reason why not. The node part removes none of these addresses.
pub fn addresses_of_other_programs_stay(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    for address in [X, Y] {
        world.assign(address, "a");
        world.whitelist(address);
    }
    let objects = with_pod(objects, "host", None, "two");
    let objects = with_ip(objects, node, "two", Y, "host");
    let before = [format!("{Y}/32 dev eth1"), format!("{X}/32 dev lo")];
    let later = [format!("{X}/32 dev eth1"), format!("{Y}/32 dev eth0")];
    let add = |address: &String| drop(node.run(&format!("ip addr add {address}")));
    before.iter().for_each(add);
    let running = node.start(objects.clone());
    let state = |ip: &str| running.reports.borrow().get(ip).map(|report| report.state);
    let evidence = || {
        format!(
            "{:#?}\n{}",
            running.reports.borrow(),
            node.run("ip -4 addr")
        )
    };
    let programmed = || {
        let both = ["one", "two"].map(state);
        (both == [Some(State::Programmed); 2]).then_some(())
    };
    let works = || {
        let pod = world.ask("client", Protocol::Tcp, PARTNER);
        let host = world.ask_from("a", Protocol::Tcp, PARTNER, Y);
        assert_eq!((pod, host), (Ok(X.to_owned()), Ok(Y.to_owned())));
        assert_eq!(
            world.ask("partner", Protocol::Tcp, X),
            Ok(PARTNER.to_owned())
        );
    };
    eventually("both are programmed", evidence, programmed);
    works();
    later.iter().for_each(add);
    works();

    // The own address of the pod on the node: packets to it no longer reach the pod.
    let own = "10.77.0.20/32 dev lo".to_owned();
    add(&own);
    eventually("the report has the reason", evidence, || {
        let reports = running.reports.borrow();
        let message = &reports["one"].message;
        (reports["one"].state == State::Failed && message.contains("of the node itself"))
            .then_some(())
    });
    assert!(node.run("ip -4 addr show lo").contains("10.77.0.20/32"));
    node.run(&format!("ip addr del {own}"));
    eventually("both are programmed again", evidence, programmed);
    works();

    // A full comparison as at a start, and the deletion of both pods.
    drop(running);
    assert!(node.reconcile(&objects).changes.is_empty());
    node.reconcile(&Objects::default());
    for address in before.iter().chain(&later) {
        let (address, interface) = address.split_once(" dev ").unwrap();
        let shown = node.run(&format!("ip -4 addr show {interface}"));
        assert!(shown.contains(address), "{address}: {shown}");
    }
    world.expect_sources(&[X, Y]);
}

/// The lines without lifetimes, as a set: the order of rules with the same priority depends on their creation.
fn state(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.contains("valid_lft"))
        .map(str::to_owned)
        .collect()
}
