//! Replicas go through many changes while API servers read late. The served certificate must always be trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;

use super::{Objects, Replica, SECRET, another, signed_by_another, spoiled_next};
use crate::tls::self_managed::observation::Observation;
use crate::tls::self_managed::{Lifetimes, webhook_config};
use crate::tls::webhook_config::Configuration;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const INTERVAL: i64 = 30 * SECOND;
const BEGIN: i64 = 1_700_000_000 * SECOND;
/// The default flags, with the shortest lifetime that is allowed.
const LIFETIMES: Lifetimes = Lifetimes {
    certificate: Duration::from_mins(20),
    settling: Duration::from_mins(1),
    overlap: Duration::from_mins(10),
};
/// The read delays of the API servers, in milliseconds.
const LATE: [i64; 3] = [0, 25 * SECOND, MINUTE];
/// The clock errors of the replicas, in milliseconds.
const WRONG: [i64; 3] = [0, 100 * SECOND, -100 * SECOND];

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

struct World {
    objects: Objects,
    replicas: Vec<(Replica, i64)>,
    /// The versions of the configurations, each with the time of its publication.
    published: Vec<(i64, Vec<Configuration>)>,
    /// The combinations that were checked: certificate, publication time of the configurations, and rough time.
    checked: BTreeSet<(Vec<u8>, i64, i64)>,
    random: Random,
    now: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let objects = Objects::new();
        let mut world = Self {
            replicas: Vec::new(),
            objects,
            published: Vec::new(),
            checked: BTreeSet::new(),
            random: Random(seed),
            now: BEGIN,
        };
        world.replicas = WRONG.map(|_| world.replica()).into();
        world
    }

    fn replica(&self) -> (Replica, i64) {
        let mut replica = self.objects.replica();
        replica.renewer.options.lifetimes = LIFETIMES;
        (replica, self.now)
    }

    /// Runs a round of each replica that is due, in any order.
    async fn look(&mut self) {
        let first = self.random.below(3);
        for number in 0..3 {
            let number = usize::try_from((first + number) % 3).unwrap();
            let (replica, at) = &mut self.replicas[number];
            if *at <= self.now {
                *at = self.now + INTERVAL;
                let clock = self.now + WRONG[number];
                let round = replica.renewer.round(&mut replica.state, clock);
                round.await.unwrap();
            }
        }
        let client = &self.replicas[0].0.renewer.client;
        let read = webhook_config::read(client).await.unwrap();
        let bundles = |of: &[Configuration]| -> Vec<_> {
            let hooks = of.iter().flat_map(|it| &it.hooks);
            hooks.map(|hook| hook.bundle.clone()).collect()
        };
        let last = self.published.last();
        if last.is_none_or(|(_, last)| bundles(last) != bundles(&read)) {
            self.published.push((self.now, read));
        }
    }

    /// Checks that every API server trusts the certificate of every replica.
    fn expect_trusted(&mut self, when: &str) {
        for (number, (replica, _)) in self.replicas.iter().enumerate() {
            let served = replica.renewer.resolver.current().unwrap();
            for late in LATE {
                let seen = self.published.iter().rev();
                let mut seen = seen.filter(|(since, _)| *since <= self.now - late);
                let (since, configurations) = seen.next().unwrap();
                let about = self.now / (5 * MINUTE);
                if self
                    .checked
                    .insert((served.cert[0].to_vec(), *since, about))
                {
                    let provider = Arc::clone(&replica.renewer.provider);
                    let observation = Observation::new(
                        configurations.clone(),
                        provider,
                        Duration::ZERO,
                        self.now,
                    );
                    let passed = (self.now - BEGIN) / SECOND;
                    assert!(
                        observation.is_trusted(&served),
                        "replica {number} after {passed} s, an API server late by {late} ms: {when}"
                    );
                }
            }
        }
    }

    fn put_secret(&mut self) -> &'static str {
        let spoiled = BTreeMap::from([("tls.crt".to_owned(), ByteString(b"nonsense".to_vec()))]);
        let (what, data) = match self.random.below(5) {
            0 => {
                self.objects.0.lock().unwrap().remove(SECRET);
                return "the Secret was deleted";
            }
            1 => ("another pair", another(self.now, LIFETIMES.certificate)),
            2 => ("a pair that is not taken", signed_by_another()),
            3 => (
                "a next that is spoiled",
                spoiled_next(self.now, LIFETIMES.certificate),
            ),
            _ => ("nonsense", spoiled),
        };
        self.objects.put_secret("kubernetes.io/tls", &data);
        what
    }

    fn served(&self) -> BTreeSet<Vec<u8>> {
        let served = self
            .replicas
            .iter()
            .map(|it| it.0.renewer.resolver.current());
        served.map(|it| it.unwrap().cert[0].to_vec()).collect()
    }
}

/// Simulates this number of minutes. `secrets`: the Secret is replaced sometimes.
async fn work(seed: u64, minutes: i64, secrets: bool) {
    let mut world = World::new(seed);
    let mut what = "the start";
    let (mut replaced, mut served) = (0, BTreeSet::new());
    while world.now < BEGIN + minutes * MINUTE {
        world.look().await;
        served.extend(world.served());
        // The first certificate is served at once, because there was none before.
        if world.now >= BEGIN + MINUTE {
            world.expect_trusted(&format!("seed {seed}, after {what}"));
        }
        let quiet = world.now - replaced > 4 * MINUTE;
        if secrets && quiet && world.random.below(40) == 0 {
            (what, replaced) = (world.put_secret(), world.now);
        } else if quiet && world.random.below(20) == 0 {
            // A replica that starts after the Secret was lost cannot serve the former certificate.
            let number = usize::try_from(world.random.below(3)).unwrap();
            world.replicas[number] = world.replica();
            what = "a restart";
            world.look().await;
        }
        world.now += 5 * SECOND;
    }
    let rotations = usize::try_from(minutes / 16).unwrap();
    assert!(served.len() > rotations, "{} only", served.len());
    // Without further changes all replicas serve the same certificate in the end, and no other one is published.
    let mut alone = false;
    for _ in 0..25 * 12 {
        world.look().await;
        world.expect_trusted("the end");
        let (_, last) = world.published.last().unwrap();
        alone |= world.served().len() == 1 && last[0].hooks[0].bundle.len() == 1;
        world.now += 5 * SECOND;
    }
    assert!(alone, "seed {seed}: something else stays published");
}

#[tokio::test]
async fn served_certificates_are_trusted_during_a_renewal() {
    for seed in 0..4 {
        work(seed, 90, false).await;
    }
}

#[tokio::test]
async fn served_certificates_are_trusted_during_a_replacement_of_the_secret() {
    for seed in 0..8 {
        work(seed, 60, true).await;
    }
}
