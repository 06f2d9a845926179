use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X, eventually};

/// Two node parts on one node, as during an upgrade, program the same state and then change nothing.
pub fn two_node_parts_do_not_disturb_each_other(backend: Backend) {
    let world = World::new(backend);
    let (node, objects) = one_pod(&world);
    let both = [node.start(objects.clone()), node.start(objects.clone())];
    let evidence = || node.run("nft list ruleset; ip rule; ip route show table 10601");
    let works = || (world.ask("client", Protocol::Tcp, PARTNER) == Ok(X.to_owned())).then_some(());
    eventually("the address works", evidence, works);
    node.run("ip rule del pref 600; ip route flush table 10601; nft delete table ip mooring");
    eventually("the address works again", evidence, works);
    drop(both);
    assert!(
        node.reconcile(&objects).changes.is_empty(),
        "what both left is right"
    );
}
