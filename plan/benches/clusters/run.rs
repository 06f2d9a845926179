//! Clusters in one time, which share accounts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use mooring_plan::facts::Fact;
use mooring_plan::time::Instant;
use mooring_world::attached::{address, ip_name, node_name, pod, pod_key, pod_uid};

use crate::account::Account;
use crate::at_rest::{DRAINED, MOVES};
use crate::chance::Chance;
use crate::cluster::{Cluster, Due};

/// From the binding of a pod to the end of the pod before it.
const GRACE: Duration = Duration::from_secs(1);
/// From one pod of a cluster to the next.
const POD_INTERVAL: Duration = Duration::from_millis(10);
/// A scenario that takes longer has failed.
const LONGEST: Duration = Duration::from_hours(2);

/// What is due: when, the how manyth that was planned, and in which cluster.
type At = Reverse<(Instant, u64, usize)>;

/// A run.
pub struct Run {
    pub clusters: Vec<Cluster>,
    pub accounts: Vec<Account>,
    pub now: Instant,
    order: BinaryHeap<At>,
    due: BTreeMap<u64, Due>,
    planned: u64,
    /// The moves that are not recorded yet, and when the pod's event of each was.
    moves: usize,
    began: BTreeMap<(usize, u32), Instant>,
}

impl Run {
    /// Cluster n has account n modulo the number of accounts.
    pub fn of(clusters: Vec<Cluster>, accounts: Vec<Account>, now: Instant) -> Self {
        let mut run = Self {
            clusters,
            accounts,
            now,
            order: BinaryHeap::new(),
            due: BTreeMap::new(),
            planned: 0,
            moves: 0,
            began: BTreeMap::new(),
        };
        for cluster in 0..run.clusters.len() {
            run.clusters[cluster].wake = None;
            run.begin(cluster);
        }
        run
    }

    fn plan(&mut self, cluster: usize, at: Instant, due: Due) {
        self.planned += 1;
        self.order.push(Reverse((at, self.planned, cluster)));
        self.due.insert(self.planned, due);
    }

    /// What the engine of a cluster begins now.
    fn begin(&mut self, cluster: usize) {
        let mut plans = Vec::new();
        self.clusters[cluster].begin(self.now, |at, due| plans.push((at, due)));
        for (at, due) in plans {
            self.plan(cluster, at, due);
        }
    }

    /// Everything that is due until then.
    pub fn until(&mut self, end: Instant) {
        while self
            .order
            .peek()
            .is_some_and(|Reverse((at, ..))| *at <= end)
        {
            self.step();
        }
        self.now = end;
    }

    fn step(&mut self) {
        let Reverse((at, planned, cluster)) = self.order.pop().unwrap();
        self.now = at;
        let due = self.due.remove(&planned).unwrap();
        let (now, accounts) = (self.now, self.accounts.len());
        let mut plans = Vec::new();
        let later = |at, due| plans.push((at, due));
        let this = &mut self.clusters[cluster];
        match due {
            Due::Wake => this.wake = None,
            Due::Deliver(event) => this.engine.handle(*event, now),
            Due::Effect(effect) => this.carry_out(*effect, now, later),
            Due::Call(group, members) => {
                let account = &mut self.accounts[cluster % accounts];
                this.call(account, group, members, now, later);
            }
            Due::Bound(number, node) => this.bound(number, &node_name(node), now),
            Due::Gone(number) => {
                this.gone(number, now);
                self.began.insert((cluster, number), now);
            }
        }
        for (at, due) in plans {
            self.plan(cluster, at, due);
        }
        // What is due in the same moment for the same cluster is delivered before it begins anything.
        let next = self.order.peek();
        if next.is_none_or(|Reverse((next, _, of))| *next > at || *of != cluster) {
            self.begin(cluster);
        }
    }

    /// In each cluster the first nodes are drained: within a second all clusters begin, and 100 pods a second move.
    pub fn drain(&mut self) {
        for cluster in 0..self.clusters.len() {
            let mut chance = Chance::new(cluster as u64 + 1);
            let begins = self.now.plus(Duration::from_millis(chance.below(1000)));
            let mut numbers: Vec<u32> = (0..MOVES).collect();
            chance.shuffle(&mut numbers);
            let mut nodes: Vec<u32> = (0..MOVES)
                .map(|number| DRAINED + number % DRAINED)
                .collect();
            chance.shuffle(&mut nodes);
            self.clusters[cluster].chance = chance;
            let mut at = begins;
            for (number, node) in numbers.into_iter().zip(nodes) {
                at = at.plus(POD_INTERVAL);
                self.plan(cluster, at, Due::Bound(number, node));
                self.plan(cluster, at.plus(GRACE), Due::Gone(number));
            }
        }
        self.moves = self.clusters.len() * usize::try_from(MOVES).unwrap();
        let begun = self.now;
        while !self.all_recorded() {
            assert!(self.now.since(begun) < LONGEST, "it does not end");
            // To count is slow, and the times are those of the records.
            self.until(self.now.plus(Duration::from_secs(1)));
        }
        // The gates follow.
        self.until(self.now.plus(Duration::from_secs(5)));
    }

    fn all_recorded(&self) -> bool {
        let recorded = self.clusters.iter().map(|cluster| cluster.recorded.len());
        self.began.len() == self.moves && recorded.sum::<usize>() == self.moves
    }

    /// For each cluster, the time of each move from the pod's event to the record.
    pub fn times(&self) -> Vec<Vec<Duration>> {
        let of = |(cluster, it): (usize, &Cluster)| {
            let times = (0..MOVES).map(|number| {
                let began = self.began[&(cluster, number)];
                it.recorded[&ip_name(number)].since(began)
            });
            times.collect()
        };
        self.clusters.iter().enumerate().map(of).collect()
    }

    /// When the last address is recorded, from the first event of a pod.
    pub fn took(&self) -> Duration {
        let first = self.began.values().min().unwrap();
        let recorded = self.clusters.iter().flat_map(|it| it.recorded.values());
        recorded.max().unwrap().since(*first)
    }
}

impl Cluster {
    fn bound(&mut self, number: u32, node: &mooring_plan::names::NodeName, now: Instant) {
        let mut pod = pod("new", number, node);
        pod.version = self.kube.bump();
        self.kube.pods.insert(pod.key.clone(), pod.clone());
        self.deliver(Fact::Pod(pod), now);
    }

    fn gone(&mut self, number: u32, now: Instant) {
        self.kube.bump();
        self.kube.pods.remove(&pod_key("old", number));
        self.deliver(Fact::PodDeleted(pod_uid("old", number)), now);
    }

    /// Each address is where its pod is, and the pod's gate says so; nothing is anywhere else.
    pub fn assert_nothing_lost(&self) {
        for number in 0..MOVES {
            let pod = &self.kube.pods[&pod_key("new", number)];
            let on = self.interfaces.holder_of(address(number)).unwrap();
            let node = pod.node.as_ref().unwrap();
            assert_eq!(*on, mooring_world::objects::interface_of(node.as_str()));
            let claim = self.kube.ips[&ip_name(number)].status.claim.as_ref();
            let claim = claim.filter(|claim| claim.recorded()).unwrap();
            assert_eq!(
                (&claim.uid, &claim.target().unwrap().place.interface),
                (&pod.uid, on)
            );
            assert!(pod.reports_attached(), "the gate of {:?}", pod.key);
        }
    }
}
