use std::collections::BTreeSet;
use std::time::Instant;

use mooring::node::objects::Objects;

use crate::world::node::{one_pod, with_ip, with_pod};
use crate::world::traffic::Protocol;
use crate::world::{Backend, PARTNER, World, X, Y, eventually};

/// Other programs and people damage what the node part made. Each damage is healed within 1 s, and afterwards the
/// address works.
pub fn every_damage_is_healed(backend: Backend) {
    let world = World::new(backend);
    let (node, wish) = one_pod(&world);
    world.assign(Y, "a");
    let wish = with_pod(wish, "host", None, "two");
    let wish = with_ip(wish, node, "two", Y, "host");
    let running = node.start(wish.clone());
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
        "nft delete table ip mooring",
        "nft flush table ip mooring",
        "nft flush ruleset",
        "nft delete element ip mooring to_pod { 203.0.113.10 }",
        "nft insert rule ip mooring leave drop",
        "nft add chain ip mooring foreign",
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
            // It took the rules of the CNI with it, where they are in nftables.
            node.run("iptables-nft -t nat -F; true");
        }
        eventually("the address works again", evidence, works);
    }

    // What the tables do not show: connections are forgotten, and the pod has another address.
    node.run("conntrack -F 2>&1");
    eventually("the address works without its connections", evidence, works);
    node.pod("moved", "10.77.0.25");
    let mut moved = wish;
    moved.pods.get_mut("uid-client").unwrap().address = Some("10.77.0.25".parse().unwrap());
    running.wish(moved.clone());
    eventually("the pod works with another address", evidence, || {
        (world.ask("moved", Protocol::Tcp, PARTNER) == Ok(X.to_owned())
            && world.ask("partner", Protocol::Tcp, X) == Ok(PARTNER.to_owned()))
        .then_some(())
    });

    // Another ENI takes the place of the first one, under another name.
    world.replace_eni("a");
    let mac = world.mac("a", "eth2").parse().unwrap();
    for ip in moved.ips.values_mut() {
        ip.claim.as_mut().unwrap().mac = Some(mac);
    }
    world.assign_to(X, "a", "eth2");
    running.wish(moved);
    eventually("the address works on another interface", evidence, || {
        (world.ask("moved", Protocol::Tcp, PARTNER) == Ok(X.to_owned())
            && world.ask("partner", Protocol::Tcp, X) == Ok(PARTNER.to_owned()))
        .then_some(())
    });

    running.wish(Objects {
        node: "a".to_owned(),
        ..Objects::default()
    });
    eventually("nothing of ours is left", evidence, || {
        (!evidence().contains("table ip mooring")).then_some(())
    });
}

/// Without life times, and in one order: rules of one priority are in the order in which they came.
fn state(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.contains("valid_lft"))
        .map(str::to_owned)
        .collect()
}
