use mooring::node::kernel::Part;

use crate::world::node::one_pod;
use crate::world::traffic::Protocol;
use crate::world::{Backend, PARTNER, World, X};

/// The node part ends after each of its changes, while it programs and while it removes. In between the pod
/// reaches the partner as the address or not at all, and the next start comes to the same end.
pub fn programming_can_end_after_every_step(backend: Backend) {
    let world = World::new(backend);
    let (node, wish) = one_pod(&world);
    let mut closed = wish.clone();
    closed.ips.get_mut("one").unwrap().claim = None;
    for (before, after) in [(&closed, &wish), (&wish, &closed)] {
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
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                let seen = world.ask("client", protocol, PARTNER);
                assert!(
                    seen.is_err() || seen == Ok(X.to_owned()),
                    "after {steps} steps: {seen:?}"
                );
                let _ = world.ask("partner", protocol, X);
            }
            world.expect_sources(&[X]);
            node.reconcile(after);
            let seen = world.ask("client", Protocol::Tcp, PARTNER);
            assert_eq!(
                seen.is_ok(),
                after == &wish,
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
