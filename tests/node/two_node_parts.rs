use crate::world::node::one_pod;
use crate::world::traffic::Protocol;
use crate::world::{Backend, PARTNER, World, X, eventually};

/// Two node parts on one node, as during an upgrade, program the same and then rest.
pub fn two_node_parts_do_not_disturb_each_other(backend: Backend) {
    let world = World::new(backend);
    let (node, wish) = one_pod(&world);
    let both = [node.start(wish.clone()), node.start(wish.clone())];
    let evidence = || node.run("nft list ruleset; ip rule; ip route show table 10601");
    let works = || (world.ask("client", Protocol::Tcp, PARTNER) == Ok(X.to_owned())).then_some(());
    eventually("the address works", evidence, works);
    node.run("ip rule del pref 600; ip route flush table 10601; nft delete table ip mooring");
    eventually("the address works again", evidence, works);
    drop(both);
    assert!(
        node.reconcile(&wish).changes.is_empty(),
        "what both left is right"
    );
}
