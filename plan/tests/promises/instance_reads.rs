//! The state of an instance is read once for all IPs on it, and slow reads leave room for other requests.
//! Rules: R1.10, R3.31.

use std::collections::BTreeSet;
use std::time::Duration;

use mooring_plan::cloud::Reassign;

use crate::paced::{Paced, Sent, node};

const MINUTE: Duration = Duration::from_mins(1);

/// IPs on `failed` nodes, whose kubelets are silent and whose pods are being deleted; the next pods wait on other nodes.
fn failed(failed: usize, ips: usize) -> Paced {
    let mut world = Paced::new(2 * failed + 1, ips + 1, Reassign::Refuse);
    world.run(MINUTE);
    for number in 0..ips {
        world.pod(&format!("old-{number}"), number, number % failed);
    }
    world.run(5 * MINUTE);
    assert_eq!(world.attached(ips), ips);
    for number in 0..failed {
        world.change_node(number, |node| node.ready = false);
    }
    for number in 0..ips {
        world.is_deleted(&format!("old-{number}"));
        world.pod(&format!("new-{number}"), number, failed + number % failed);
    }
    world.sent.clear();
    world
}

#[test]
fn one_read_of_an_instance_serves_all_ips_on_it() {
    let mut world = failed(1, 40);
    world.run(Duration::from_secs(5));
    assert_eq!(world.instance_reads.len(), 1, "{:?}", world.instance_reads);
    // The next answer is needed after 10 s, and it shows the end of the instance: all move without another read.
    world
        .cloud
        .stop(&mooring_world::objects::instance_of(&node(0)));
    world.run(Duration::from_secs(15));
    assert_eq!(world.instance_reads.len(), 2, "{:?}", world.instance_reads);
    assert_eq!(world.attached(40), 40);
    // The answer takes 20 ms, and each claim needs a read of the pod and a write.
    let answered = world.instance_reads[1].0;
    let late = |sent: &&Sent| sent.at.since(answered) > Duration::from_millis(400);
    assert_eq!(world.sent.iter().find(late).map(|sent| sent.at), None);
}

#[test]
fn reads_that_hang_leave_room_for_an_attach() {
    let mut world = failed(20, 100);
    world.instances_hang = true;
    world.run(Duration::from_secs(3));
    let read: BTreeSet<_> = world.instance_reads.iter().map(|(_, id)| id).collect();
    assert_eq!(world.instance_reads.len(), 16, "{:?}", world.instance_reads);
    assert_eq!(read.len(), 16, "each instance once");

    world.pod("other", 100, 40);
    world.run(Duration::from_millis(100));
    assert_eq!(world.sent.len(), 1, "{:?}", world.sent);
}
