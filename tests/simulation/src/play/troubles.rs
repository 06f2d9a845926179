//! What goes wrong between Mooring, the API server and EC2, and when.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::api_server::{ApiServer, Fate, RequestInfo, Verb};
use crate::chance::Chance;
use crate::cloud::{BEYOND, Cloud};
use crate::log::Log;
use crate::replicas::is_ours;

/// How the way to the API server is today.
#[derive(Clone, Debug, Default)]
struct Way {
    /// So often in a thousand something happens to a request.
    trouble: u64,
    /// How long a request takes, in milliseconds, from and to.
    latency: (u64, u64),
    /// Nothing comes through.
    away: bool,
    /// Requests of these wait until then: their process stands still.
    paused: Vec<(String, Duration)>,
}

/// All troubles.
#[derive(Clone)]
pub struct Troubles {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    way: Arc<Mutex<Way>>,
}

impl Troubles {
    /// None yet; from now on each request goes by here.
    #[must_use]
    pub fn new(seed: u64, api: ApiServer, cloud: Cloud, log: Log) -> Self {
        let way = Arc::new(Mutex::new(Way {
            latency: (1, 20),
            ..Way::default()
        }));
        let (at_gate, gate_log) = (Arc::clone(&way), log.clone());
        let mut chance = Chance::new(seed, "gate");
        api.set_gate(Box::new(move |request: &RequestInfo| {
            if !is_ours(&request.user) {
                return Fate::Serve;
            }
            let mut way = at_gate.lock().unwrap_or_else(PoisonError::into_inner);
            way.fate(request, &mut chance, &gate_log)
        }));
        Self {
            api,
            cloud,
            log,
            way,
        }
    }

    /// Something begins to go wrong, or stops to.
    pub fn change(&self, chance: &mut Chance) {
        self.end();
        match chance.between(0, 18) {
            0 | 1 => self.way(|way| way.trouble = 120),
            2 => self.way(|way| (way.trouble, way.latency) = (40, (200, 3000))),
            3 => self.way(|way| way.away = true),
            4 => self.cloud.weather(|weather| weather.trouble = 400),
            5 => self
                .cloud
                .weather(|weather| (weather.trouble, weather.latency) = (100, (500, 2500))),
            6 => self.cloud.weather(|weather| weather.away = true),
            7 => self.cloud.weather(|weather| weather.throttled = 600),
            8 => {
                let lag = chance.millis(1000, 9000);
                self.cloud
                    .weather(|weather| (weather.lag, weather.trouble) = (lag, 100));
            }
            9 => self.deny(Action::AssignPrivateIpAddresses),
            10 => self.deny(Action::UnassignPrivateIpAddresses),
            11 => {
                self.api.end_watches();
                self.log.fault("trouble  all watches end");
            }
            12 => {
                self.api.compact();
                self.api.end_watches();
                self.log
                    .fault("trouble  old versions are forgotten, and all watches end");
            }
            13 => {
                self.api.hang_watches();
                self.log.fault("trouble  all watches fall silent");
            }
            14 => self.api.set_staleness(chance.between(1, 30)),
            15 => self.api.set_watch_delay(chance.millis(500, 9000)),
            16 => self.server_errors(),
            _ => {
                self.way(|way| way.trouble = 60);
                self.cloud.weather(|weather| weather.trouble = 200);
            }
        }
        let way = self
            .way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        self.log.say(format!("trouble  API: {way:?}"));
    }

    /// EC2 is beyond the bounds that Mooring counts on: calls land later, and a Describe lags for longer.
    pub fn beyond_bounds(&self, chance: &mut Chance) -> Duration {
        let lag = chance.millis(25_000, 45_000);
        let longest = u64::try_from(BEYOND.as_millis()).unwrap_or_default();
        self.cloud.weather(|weather| {
            (weather.lag, weather.late, weather.trouble) = (lag, (11_000, longest), 300);
        });
        self.log.fault(format!(
            "trouble  calls land late, and a Describe lags for {lag:?}"
        ));
        lag
    }

    /// EC2 says that it has failed, whether it has or not.
    pub fn server_errors(&self) {
        self.cloud.weather(|weather| weather.errors = 500);
        self.log.say("trouble  EC2 answers with server errors");
    }

    fn deny(&self, action: Action) {
        self.cloud.weather(|weather| {
            weather.denied.insert(action);
        });
        self.log.say(format!("trouble  {action} is not allowed"));
    }

    /// Everything works.
    pub fn end(&self) {
        self.api.set_staleness(0);
        self.api.set_watch_delay(Duration::ZERO);
        self.way(|way| {
            let paused = std::mem::take(&mut way.paused);
            *way = Way {
                latency: (1, 20),
                paused,
                ..Way::default()
            };
        });
        self.cloud
            .weather(|weather| *weather = crate::cloud::Weather::default());
        self.log.say("trouble  none");
    }

    /// EC2 is away, or back.
    pub fn cloud_away(&self, away: bool) {
        self.cloud.weather(|weather| weather.away = away);
        self.log.fault(format!("trouble  EC2 is away: {away}"));
    }

    /// A process stands still until then: what it sends is on its way until then, and no answer reaches it.
    pub fn pause(&self, user: &str, until: Duration) {
        self.cloud.pause(user, until);
        self.way(|way| way.paused.push((user.to_owned(), until)));
        self.log
            .fault(format!("process  {user} stands still until {until:?}"));
    }

    fn way(&self, change: impl FnOnce(&mut Way)) {
        change(&mut self.way.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Way {
    fn fate(&mut self, request: &RequestInfo, chance: &mut Chance, log: &Log) -> Fate {
        let now = log.now();
        self.paused.retain(|(_, until)| *until > now);
        let paused = self.paused.iter().filter(|(user, _)| *user == request.user);
        if let Some(until) = paused.map(|(_, until)| *until).max() {
            return Fate::ServeAfter(until.saturating_sub(now));
        }
        let (from, to) = self.latency;
        let latency = chance.millis(from, to);
        let fate = if self.away {
            match chance.between(0, 3) {
                0 => Fate::Hang,
                1 => Fate::Fail(503),
                _ => Fate::LoseRequest,
            }
        } else if chance.permille(self.trouble) {
            match chance.between(0, 10) {
                0 => Fate::Fail(500),
                1 => Fate::Fail(429),
                2 => Fate::Fail(503),
                3 => Fate::FailAfterCommit(504),
                4 => Fate::LoseAnswer,
                5 => Fate::LoseRequest,
                6 => Fate::Hang,
                7 => Fate::ServeAfter(chance.millis(1000, 9000)),
                8 => Fate::AnswerAfter(chance.millis(1000, 9000)),
                _ if request.verb == Verb::Watch || request.verb == Verb::List => Fate::Fail(410),
                _ => Fate::Fail(409),
            }
        } else {
            return Fate::ServeAfter(latency);
        };
        log.fault(format!(
            "trouble  {fate:?} for {} {} {} {}",
            request.user, request.verb, request.resource, request.name
        ));
        fate
    }
}
