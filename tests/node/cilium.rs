use mooring::node::desired::State;
use mooring::node::settings::NodeSettings;

use crate::node_part::RunNodePart as _;
use crate::objects::{one_pod, with_ip, with_pod};
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, Y, eventually};

/// On a node with Cilium the address of a pod is not programmed, and the report has the reason and a remedy. The
/// address of a program with `hostNetwork` is programmed. With legacy routing of Cilium both are.
pub fn only_host_network_works_where_cilium_bypasses_netfilter(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    world.assign(Y, "a");
    world.whitelist(Y);
    let objects = with_pod(objects, "host", None, "two");
    let objects = with_ip(objects, node, "two", Y, "host");
    let running = node.start(objects.clone());
    let state = |ip: &str| running.reports.borrow().get(ip).map(|report| report.state);
    let evidence = || format!("{:#?}", running.reports.borrow());
    let pod = || world.ask("client", Protocol::Tcp, PARTNER).ok();
    let host = || world.ask_from("a", Protocol::Tcp, PARTNER, Y).ok();
    eventually("both are programmed", evidence, || {
        let both = ["one", "two"].map(state);
        (both == [Some(State::Programmed); 2]).then_some(())
    });
    assert_eq!((pod(), host()), (Some(X.to_owned()), Some(Y.to_owned())));

    node.run("ip link add cilium_host type veth peer name cilium_net");
    eventually("it is reported", evidence, || {
        (state("one") == Some(State::Unsupported)).then_some(())
    });
    let message = running.reports.borrow()["one"].message.clone();
    assert!(message.contains("hostLegacyRouting"), "{message}");
    assert_eq!(state("two"), Some(State::Programmed));
    let table = node.run("nft list map ip mooring as_address");
    assert!(!table.contains(X), "{table}");
    // In this test there is no real Cilium, so the packets pass netfilter and are dropped.
    assert_eq!((pod(), host()), (None, Some(Y.to_owned())));
    drop(running);

    let legacy = NodeSettings::new(0x0000_3000, 600, 10_600).unwrap();
    let legacy = legacy.with_cilium_legacy_routing(true).unwrap();
    let outcome = node.reconcile_with(legacy, &objects);
    assert_eq!(outcome.reports["one"].state, State::Programmed);
    assert_eq!(
        (pod(), host()),
        (Some(X.to_owned()), Some(Y.to_owned())),
        "with legacy routing"
    );

    // Without `endpointRoutes` Cilium has one route for all pods of the node.
    let route = node.run("ip route show 10.77.0.20");
    let route = route.trim();
    node.run(&format!(
        "ip link set cilium_host up; ip route del {route}; ip route add 10.77.0.16/28 dev cilium_host"
    ));
    let outcome = node.reconcile_with(legacy, &objects);
    let report = &outcome.reports["one"];
    assert_eq!(report.state, State::Unsupported);
    assert!(
        report.message.contains("endpointRoutes"),
        "{}",
        report.message
    );
    assert_eq!(outcome.reports["two"].state, State::Programmed);
    node.run(&format!("ip route add {route}"));
    let outcome = node.reconcile_with(legacy, &objects);
    assert_eq!(outcome.reports["one"].state, State::Programmed);
    assert_eq!(pod(), Some(X.to_owned()), "with a route of its own");
    world.expect_sources(&[X, Y]);
}

/// Cilium in ENI mode has a rule for what each pod sends. Before the rules of Mooring, it takes the packets, and this is
/// reported with the flag that puts the rules of Mooring first. With the flag the address works.
pub fn rules_of_cilium_in_eni_mode_are_reported_or_come_later(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    // As Cilium has them: the local table at 100, the pod as a destination at 20 and as a source at 111.
    node.run(
        "ip link add cilium_host type veth peer name cilium_net
         ip rule add pref 100 lookup local
         ip rule del pref 0
         ip rule del pref 512 to 10.77.0.20 lookup main
         ip rule add pref 20 to 10.77.0.20 lookup main
         ip rule add pref 111 from 10.77.0.20 lookup 11
         ip route add default via 10.77.0.1 dev eth0 table 11",
    );
    let with_priority = |priority| {
        let settings = NodeSettings::new(0x0000_3000, priority, 10_600).unwrap();
        let settings = settings.with_cilium_legacy_routing(true).unwrap();
        node.reconcile_with(settings, &objects).reports["one"].clone()
    };
    let report = with_priority(600);
    assert_eq!(report.state, State::Unsupported, "{}", report.message);
    let hint = "--rule-priority=105";
    assert!(report.message.contains(hint), "{}", report.message);
    assert!(world.ask("client", Protocol::Tcp, PARTNER).is_err());

    assert_eq!(with_priority(105).state, State::Programmed);
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        assert_eq!(world.ask("client", protocol, PARTNER), Ok(X.to_owned()));
        assert_eq!(world.ask("partner", protocol, X), Ok(PARTNER.to_owned()));
    }
    world.expect_sources(&[X]);
}
