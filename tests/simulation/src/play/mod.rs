//! One seed, from the first object to the last rest.

mod by_hand;
mod crowd;
mod deeds;
mod late;
mod many;
mod outage;
mod rest;
mod restored;
mod storm;
mod succession;
mod trace;
mod troubles;
mod wish;

use std::time::Duration;

use mooring::controller::LeaseTimes;

use crate::api_server::ApiServer;
use crate::chance::Chance;
use crate::cloud::Cloud;
use crate::decisions::Decisions;
use crate::judge::{Broken, Case, Restored, Seen, judge};
use crate::log::Log;
use crate::replicas::{Manner, Replicas};
use crate::world::{Shape, World};
use troubles::Troubles;

/// Of a `Lease`, in seconds: its duration, the deadline of its renewal, and how often it is tried.
const LEASES: [(u64, u64, u64); 3] = [(15, 10, 2), (30, 20, 5), (9, 6, 1)];

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Everything at once, for minutes; then rest.
    Storm,
    /// EC2 is away for half an hour.
    Outage,
    /// A backup of the API server's is restored that has no pods.
    Restored,
    /// Holders come and go, while everything else works.
    Succession,
    /// Calls land, and a Describe lags, for longer than Mooring counts on.
    Late,
    /// Two hundred IPs.
    Many,
}

impl Scenario {
    /// Every scenario, by its name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("storm", Self::Storm),
        ("outage", Self::Outage),
        ("restored", Self::Restored),
        ("succession", Self::Succession),
        ("late", Self::Late),
        ("many", Self::Many),
    ];

    /// The scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, scenario)| *scenario)
    }
}

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Report {
    /// How much time passed in it.
    pub simulated: Duration,
    /// How many faults took effect.
    pub faults: u64,
    /// How many processes were killed.
    pub crashes: u64,
    /// How often a person had to set something right.
    pub by_hand: u64,
    /// How many requests and calls were made.
    pub requests: u64,
    /// What the judge saw.
    pub seen: Seen,
    /// What went wrong, and when.
    pub failed: Option<(Duration, String)>,
    /// Everything that happened, if it was asked for or something went wrong.
    pub trace: Vec<String>,
}

/// Everything there is.
struct Stage {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    decisions: Decisions,
    world: World,
    replicas: Replicas,
    troubles: Troubles,
    chance: Chance,
    /// Each backup that was restored.
    restored: Vec<Restored>,
    /// EC2 was beyond the bounds that Mooring counts on.
    beyond_bounds: bool,
}

impl Stage {
    fn new(seed: u64, manner: Manner, shape: Shape) -> Self {
        let api = ApiServer::new();
        let log = Log::new(api.clone());
        let cloud = Cloud::new(seed, log.clone());
        Self {
            world: World::new(seed, shape, api.clone(), cloud.clone(), log.clone()),
            replicas: Replicas::new(api.clone(), cloud.clone(), log.clone(), manner),
            troubles: Troubles::new(seed, api.clone(), cloud.clone(), log.clone()),
            chance: Chance::new(seed, "stage"),
            decisions: Decisions::listen(log.clone()),
            restored: Vec::new(),
            beyond_bounds: false,
            api,
            cloud,
            log,
        }
    }

    /// Time passes, and everybody does what is due.
    async fn pass(&mut self, length: Duration) {
        tokio::time::sleep(length).await;
        self.world.turn();
    }
}

/// Plays one seed.
pub async fn play(scenario: Scenario, seed: u64, traced: bool) -> Report {
    let mut chance = Chance::new(seed, "manner");
    // Two that lead at once are safe, which is all that is promised of them.
    let (processes, election) = match chance.between(0, 10) {
        6 | 7 if scenario == Scenario::Storm => (2, false),
        0..=7 => (2, true),
        _ => (1, true),
    };
    let lease = |chance: &mut Chance, alike: bool| {
        let (duration, renew_deadline, retry_period) = if alike {
            LEASES[0]
        } else {
            *chance.pick(&LEASES).expect("some")
        };
        LeaseTimes {
            duration: Duration::from_secs(duration),
            renew_deadline: Duration::from_secs(renew_deadline),
            retry_period: Duration::from_secs(retry_period),
        }
    };
    let alike = chance.one_in(2);
    let manner = Manner {
        processes,
        election,
        leases: [lease(&mut chance, alike), lease(&mut chance, alike)],
        interval: Duration::from_secs(match scenario {
            // So that one falls between what Mooring counts on and what is.
            Scenario::Late => 15,
            _ => *chance.pick(&[15, 20, 30, 60]).expect("four"),
        }),
    };
    let shape = match scenario {
        Scenario::Storm | Scenario::Late => Shape::of(seed),
        Scenario::Many => Shape::large(),
        Scenario::Outage | Scenario::Restored | Scenario::Succession => Shape::plain(),
    };
    let mut stage = Stage::new(seed, manner, shape.clone());
    stage.log.say(format!(
        "seed     {seed}: {scenario:?}, {manner:?}, {shape:?}"
    ));
    let story = match scenario {
        Scenario::Storm => storm::play(&mut stage, seed).await,
        Scenario::Outage => outage::play(&mut stage, seed).await,
        Scenario::Restored => restored::play(&mut stage, seed).await,
        Scenario::Succession => succession::play(&mut stage, seed).await,
        Scenario::Late => late::play(&mut stage, seed).await,
        Scenario::Many => many::play(&mut stage, seed).await,
    };
    let history = stage.api.history();
    let (calls, foreign) = (stage.cloud.calls(), stage.cloud.foreign());
    let decided = stage.decisions.all();
    let case = Case {
        history: &history,
        calls: &calls,
        decided: &decided,
        foreign: &foreign,
        one_at_a_time: manner.election || manner.processes == 1,
        interval: manner.interval,
        restored: &stage.restored,
        within_bounds: scenario != Scenario::Late,
        news_within: (scenario == Scenario::Succession).then_some(succession::NEWS),
    };
    let judged = judge(&case);
    let simulated = stage.log.now();
    let broken = judged
        .as_ref()
        .err()
        .map(|Broken { at, sentence }| (*at, format!("at {at:?}: {sentence}")));
    let ended = || {
        stage
            .replicas
            .died()
            .or(story.err())
            .map(|why| (simulated, why))
    };
    let failed = broken.or_else(ended);
    let trace = if traced || failed.is_some() {
        trace::lines(&history, &stage.log.lines())
    } else {
        Vec::new()
    };
    Report {
        simulated,
        faults: stage.log.faults(),
        crashes: stage.log.crashes(),
        by_hand: stage.log.hands(),
        requests: history.len() as u64,
        seen: judged.unwrap_or_default(),
        failed,
        trace,
    }
}
