use mooring::node::kernel::Part;

use crate::node_part::RunNodePart as _;
use crate::objects::one_pod;
use mooring_cluster::network::{Backend, PARTNER, Protocol, World, X};

/// The node part ends after each single change, during programming and during removal. In between, the pod reaches the
/// partner with the address or not at all. The next start gives the same result.
pub fn programming_can_end_after_every_step(backend: Backend) {
    let world = &World::new(backend);
    let (node, objects) = one_pod(world);
    let mut closed = objects.clone();
    closed.ips.get_mut("one").unwrap().claim = None;
    for (before, after) in [(&closed, &objects), (&objects, &closed)] {
        for steps in 0.. {
            node.reconcile(before);
            world.run("partner", "nft flush set ip firewall seen");
            let made = node.with(|runtime, reconciler| {
                runtime.block_on(async {
                    let (changes, _) = reconciler.compare(after, Part::All).await.unwrap();
                    for change in changes.iter().take(steps) {
                        reconciler.apply(change).await.unwrap();
                    }
                    steps.min(changes.len())
                })
            });
            // In parallel, because each dropped packet costs a timeout.
            std::thread::scope(|scope| {
                for protocol in [Protocol::Tcp, Protocol::Udp] {
                    scope.spawn(move || world.ask("partner", protocol, X));
                    scope.spawn(move || {
                        let seen = world.ask("client", protocol, PARTNER);
                        assert!(
                            seen.is_err() || seen == Ok(X.to_owned()),
                            "after {steps} steps: {seen:?}"
                        );
                    });
                }
            });
            world.expect_sources(&[X]);
            node.reconcile(after);
            let seen = world.ask("client", Protocol::Tcp, PARTNER);
            assert_eq!(
                seen.is_ok(),
                after == &objects,
                "after {steps} steps and a new start: {seen:?}"
            );
            assert!(
                node.reconcile(after).changes.is_empty(),
                "doing it again changes nothing"
            );
            if made < steps {
                break;
            }
        }
    }
}
