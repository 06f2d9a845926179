//! What happens in the world: pods and nodes change, and pods move, at a given rate.

use std::time::Duration;

use mooring_plan::engine::Event;
use mooring_plan::facts::Fact;
use mooring_plan::names::PodUid;
use mooring_plan::objects::Pod;
use mooring_world::attached::{node_name, pod, pod_key};

use crate::many_ips::POD;
use crate::world::World;

/// What happens in a second.
pub struct Rate {
    pub pods: u32,
    pub nodes: u32,
    pub moves: u32,
}

impl World {
    /// The status of a pod changes.
    fn pod_changes(&mut self, number: u32) {
        let key = pod_key(POD, number % self.ips);
        self.kube.change_pod(&key, |pod| {
            pod.containers_ready = !pod.containers_ready;
        });
        let pod = self.kube.pods.get(&key).unwrap().clone();
        self.event(Event::Fact(Fact::Pod(pod)));
    }

    /// The heartbeat of a Node.
    fn node_changes(&mut self, number: u32) {
        let version = self.kube.bump();
        let name = node_name(number % self.nodes);
        let node = self.kube.nodes.get_mut(&name).unwrap();
        node.version = version;
        let node = node.clone();
        self.event(Event::Fact(Fact::Node(node)));
    }

    /// A pod is replaced by one of the same name on the next node.
    fn pod_moves(&mut self, number: u32, round: u32) {
        let key = pod_key(POD, number % self.ips);
        let old = self.kube.pods.get(&key).unwrap().clone();
        self.event(Event::Fact(Fact::PodDeleted(old.uid)));
        let next = node_name((number + 1) % self.nodes);
        let pod = Pod {
            uid: PodUid::new(format!("again-{round}-{number}")),
            version: self.kube.bump(),
            ..pod(POD, number % self.ips, &next)
        };
        self.kube.pods.insert(key, pod.clone());
        self.event(Event::Fact(Fact::Pod(pod)));
    }

    /// These events, spread over each second.
    pub fn run_at_rate(&mut self, seconds: u32, rate: &Rate) {
        let mut done = [0_u32; 3];
        for slice in 1..=seconds * 100 {
            for (kind, each) in [rate.pods, rate.nodes, rate.moves].into_iter().enumerate() {
                while done[kind] < each * slice / 100 {
                    let number = done[kind];
                    match kind {
                        0 => self.pod_changes(number * 7),
                        1 => self.node_changes(number),
                        _ => self.pod_moves(number * 41, slice),
                    }
                    done[kind] += 1;
                }
            }
            self.run(Duration::from_millis(10));
        }
    }
}
