//! The scenarios, and the run of one seed.

mod actions;
mod ended;
mod faults;
mod goal;
mod late;
mod manual_changes;
mod many;
mod outage;
mod restored;
mod retries;
mod settle;
mod setup;
mod storm;
mod succession;
mod trace;

use std::time::Duration;

use mooring_plan::lease::Timings;

use crate::api_server::ApiServer;
use crate::chance::Chance;
use crate::cloud::Cloud;
use crate::decisions::Decisions;
use crate::judge::{Broken, Case, Restored, Seen, judge};
use crate::log::Log;
use crate::replicas::{Replicas, Settings};
use crate::world::{Shape, World};
use faults::Faults;

/// The times of a `Lease` in seconds: its duration, the deadline of a renewal, and the interval of the tries.
const LEASES: [(u64, u64, u64); 3] = [(15, 10, 2), (30, 20, 5), (9, 6, 1)];

/// A scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// All actions and faults at once for minutes; then no more faults.
    Storm,
    /// EC2 is unreachable for half an hour.
    Outage,
    /// A backup of the API server without pods is restored.
    Restored,
    /// Holders change often; there are no other faults.
    Succession,
    /// Calls are later, and a Describe lags longer, than the limits that Mooring relies on.
    Late,
    /// Two hundred IPs.
    Many,
    /// Requests fail or are reverted, and only a timer starts the next try.
    Retries,
    /// Instances end, and fast failover takes their nodes out of service.
    Ended,
}

impl Scenario {
    /// Every scenario, by its name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("storm", Self::Storm),
        ("outage", Self::Outage),
        ("restored", Self::Restored),
        ("succession", Self::Succession),
        ("late", Self::Late),
        ("many", Self::Many),
        ("ended", Self::Ended),
        ("retries", Self::Retries),
    ];

    /// The scenario of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, scenario)| *scenario)
    }
}

/// The result of a seed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The simulated time.
    pub simulated: Duration,
    /// The number of faults that took effect.
    pub faults: u64,
    /// The number of killed processes.
    pub crashes: u64,
    /// The number of manual corrections.
    pub manual_changes: u64,
    /// The number of requests and calls.
    pub requests: u64,
    /// The number of calls with several addresses.
    pub together: u64,
    /// The counts of the judge.
    pub seen: Seen,
    /// The failure, and its time.
    pub failed: Option<(Duration, String)>,
    /// The trace, if it was requested or the seed failed.
    pub trace: Vec<String>,
}

/// All parts of the simulated world.
struct Simulation {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    decisions: Decisions,
    world: World,
    replicas: Replicas,
    faults: Faults,
    chance: Chance,
    /// The backups that were restored.
    restored: Vec<Restored>,
    /// EC2 was beyond the limits that Mooring relies on.
    beyond_bounds: bool,
}

impl Simulation {
    fn new(seed: u64, settings: Settings, shape: Shape) -> Self {
        let api = ApiServer::new();
        let log = Log::new(api.clone());
        let cloud = Cloud::new(seed, log.clone());
        Self {
            world: World::new(seed, shape, api.clone(), cloud.clone(), log.clone()),
            replicas: Replicas::new(api.clone(), cloud.clone(), log.clone(), settings),
            faults: Faults::new(seed, api.clone(), cloud.clone(), log.clone()),
            chance: Chance::new(seed, "stage"),
            decisions: Decisions::listen(log.clone()),
            restored: Vec::new(),
            beyond_bounds: false,
            api,
            cloud,
            log,
        }
    }

    /// Time passes, and the simulated world does what is due.
    async fn pass(&mut self, length: Duration) {
        tokio::time::sleep(length).await;
        self.world.turn();
    }
}

/// Runs one seed.
pub async fn run(scenario: Scenario, seed: u64, traced: bool) -> Report {
    let mut chance = Chance::new(seed, "manner");
    // Two leaders at once must be safe; nothing more is promised.
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
        Timings {
            duration: Duration::from_secs(duration),
            renew_deadline: Duration::from_secs(renew_deadline),
            retry_period: Duration::from_secs(retry_period),
        }
    };
    let alike = chance.one_in(2);
    let settings = Settings {
        processes,
        election,
        leases: [lease(&mut chance, alike), lease(&mut chance, alike)],
        interval: Duration::from_secs(match scenario {
            // Then an inventory happens between the limit that Mooring relies on and the real lag.
            Scenario::Late => 15,
            Scenario::Succession => *chance.pick(&[15, 3600]).expect("two"),
            // No inventory starts a try.
            Scenario::Retries => 3600,
            _ => *chance.pick(&[15, 20, 30, 60]).expect("four"),
        }),
    };
    let shape = match scenario {
        Scenario::Storm | Scenario::Late => Shape::of(seed),
        Scenario::Many => Shape::large(),
        Scenario::Ended => Shape::fast(seed),
        Scenario::Outage | Scenario::Restored | Scenario::Retries | Scenario::Succession => {
            Shape::plain()
        }
    };
    let mut simulation = Simulation::new(seed, settings, shape.clone());
    simulation.log.note(format!(
        "seed     {seed}: {scenario:?}, {settings:?}, {shape:?}"
    ));
    let story = match scenario {
        Scenario::Storm => storm::run(&mut simulation, seed).await,
        Scenario::Outage => outage::run(&mut simulation, seed).await,
        Scenario::Restored => restored::run(&mut simulation, seed).await,
        Scenario::Succession => succession::run(&mut simulation, seed).await,
        Scenario::Late => late::run(&mut simulation, seed).await,
        Scenario::Many => many::run(&mut simulation, seed).await,
        Scenario::Ended => ended::run(&mut simulation, seed).await,
        Scenario::Retries => retries::run(&mut simulation).await,
    };
    let history = simulation.api.history();
    let (calls, foreign) = (simulation.cloud.calls(), simulation.cloud.foreign());
    let decided = simulation.decisions.all();
    let case = Case {
        history: &history,
        calls: &calls,
        decided: &decided,
        foreign: &foreign,
        one_at_a_time: settings.election || settings.processes == 1,
        interval: settings.interval,
        restored: &simulation.restored,
        within_bounds: scenario != Scenario::Late,
        news_within: (scenario == Scenario::Succession).then_some(succession::NEWS),
    };
    let judged = judge(&case);
    let simulated = simulation.log.now();
    let broken = judged
        .as_ref()
        .err()
        .map(|Broken { at, sentence }| (*at, format!("at {at:?}: {sentence}")));
    let ended = || {
        simulation
            .replicas
            .died()
            .or(story.err())
            .map(|why| (simulated, why))
    };
    let failed = broken.or_else(ended);
    let trace = if traced || failed.is_some() {
        trace::lines(&history, &simulation.log.lines())
    } else {
        Vec::new()
    };
    let calls = simulation.cloud.calls();
    let together = calls.iter().filter(|call| call.addresses.len() > 1);
    Report {
        simulated,
        faults: simulation.log.faults(),
        crashes: simulation.log.crashes(),
        manual_changes: simulation.log.manual_changes(),
        requests: history.len() as u64,
        together: together.count() as u64,
        seen: judged.unwrap_or_default(),
        failed,
        trace,
    }
}
