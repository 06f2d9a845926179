//! Random faults between Mooring, the API server and EC2.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ec2_emulator::wire::Action;

use crate::api_server::{ApiServer, Fate, RequestInfo, Reversion, Verb};
use crate::chance::Chance;
use crate::cloud::{BEYOND, Cloud};
use crate::log::Log;
use crate::replicas::is_ours;

/// The state of the connection to the API server.
#[derive(Clone, Debug, Default)]
struct Link {
    /// The rate of faults per thousand requests.
    fault_rate: u64,
    /// The duration of a request in milliseconds, from and to.
    latency: (u64, u64),
    /// No request for a watch, a list or a Lease fails.
    spares_watches: bool,
    /// No request arrives.
    unreachable: bool,
    /// The paused processes: their requests wait until this time.
    paused: Vec<(String, Duration)>,
}

/// The faults of the connections to the API server and to EC2.
#[derive(Clone)]
pub struct Faults {
    api: ApiServer,
    cloud: Cloud,
    log: Log,
    link: Arc<Mutex<Link>>,
}

impl Faults {
    /// No fault at first. From now on the gate uses these faults for each request.
    #[must_use]
    pub fn new(seed: u64, api: ApiServer, cloud: Cloud, log: Log) -> Self {
        let link = Arc::new(Mutex::new(Link {
            latency: (1, 20),
            ..Link::default()
        }));
        let (at_gate, gate_log) = (Arc::clone(&link), log.clone());
        let mut chance = Chance::new(seed, "gate");
        api.set_gate(Box::new(move |request: &RequestInfo| {
            if !is_ours(&request.user) {
                return Fate::Serve;
            }
            let mut link = at_gate.lock().unwrap_or_else(PoisonError::into_inner);
            link.fate(request, &mut chance, &gate_log)
        }));
        Self {
            api,
            cloud,
            log,
            link,
        }
    }

    /// Replaces the present faults by random ones.
    pub fn change(&self, chance: &mut Chance) {
        self.end();
        match chance.between(0, 18) {
            0 | 1 => self.set_link(|link| link.fault_rate = 120),
            2 => self.set_link(|link| (link.fault_rate, link.latency) = (40, (200, 3000))),
            3 => self.set_link(|link| link.unreachable = true),
            4 => self.cloud.set_faults(|faults| faults.fault_rate = 400),
            5 => self
                .cloud
                .set_faults(|faults| (faults.fault_rate, faults.latency) = (100, (500, 2500))),
            6 => self.cloud.set_faults(|faults| faults.unreachable = true),
            7 => self.cloud.set_faults(|faults| faults.throttle_rate = 600),
            8 => {
                let lag = chance.millis(1000, 9000);
                self.cloud
                    .set_faults(|faults| (faults.lag, faults.fault_rate) = (lag, 100));
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
                self.log.fault("trouble  all watches send no more events");
            }
            14 => self.api.set_staleness(chance.between(1, 30)),
            15 => self.api.set_watch_delay(chance.millis(500, 9000)),
            16 => self.server_errors(),
            _ => {
                self.set_link(|link| link.fault_rate = 60);
                self.cloud.set_faults(|faults| faults.fault_rate = 200);
            }
        }
        let link = self
            .link
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        self.log.note(format!("trouble  API: {link:?}"));
    }

    /// Lets EC2 go beyond the limits that Mooring relies on: calls are later, and a Describe lags longer.
    pub fn beyond_bounds(&self, chance: &mut Chance) -> Duration {
        let lag = chance.millis(25_000, 45_000);
        let longest = u64::try_from(BEYOND.as_millis()).unwrap_or_default();
        self.cloud.set_faults(|faults| {
            (faults.lag, faults.late, faults.fault_rate) = (lag, (11_000, longest), 300);
        });
        self.log.fault(format!(
            "trouble  calls are executed late, and a Describe lags for {lag:?}"
        ));
        lag
    }

    /// EC2 answers with server errors, whether the call was executed or not.
    pub fn server_errors(&self) {
        self.cloud.set_faults(|faults| faults.error_rate = 500);
        self.log.note("trouble  EC2 answers with server errors");
    }

    /// Reads and writes of objects, and calls of EC2, fail often. No watch begins again with a list, and no other
    /// process leads.
    pub fn frequent_failures(&self) {
        self.set_link(|link| (link.fault_rate, link.spares_watches) = (300, true));
        self.cloud.set_faults(|faults| faults.error_rate = 600);
        self.log.note("trouble  requests and calls fail often");
    }

    /// Another client reverts updates of the status of this kind by Mooring: a webhook all, a controller those that set
    /// a condition to `True`. (S1 is not promised against a client that opens gates.)
    pub fn revert_status_of(&self, resource: &'static str, reversion: Reversion) {
        self.api.set_reverter(Some(Box::new(move |request| {
            let conditions = request.body["status"]["conditions"].as_array();
            let opens = conditions.is_some_and(|all| all.iter().any(|one| one["status"] == "True"));
            let reverted = is_ours(&request.user)
                && request.resource == resource
                && request.subresource == "status"
                && (opens || reversion == Reversion::Webhook);
            reverted.then_some(reversion)
        })));
        self.log.fault(format!(
            "trouble  a {reversion:?} reverts the status of {resource}"
        ));
    }

    fn deny(&self, action: Action) {
        self.cloud.set_faults(|faults| {
            faults.denied.insert(action);
        });
        self.log.note(format!("trouble  {action} is not allowed"));
    }

    /// Ends all faults.
    pub fn end(&self) {
        self.api.set_reverter(None);
        self.api.set_staleness(0);
        self.api.set_watch_delay(Duration::ZERO);
        self.set_link(|link| {
            let paused = std::mem::take(&mut link.paused);
            *link = Link {
                latency: (1, 20),
                paused,
                ..Link::default()
            };
        });
        self.cloud
            .set_faults(|faults| *faults = crate::cloud::Ec2Faults::default());
        self.log.note("trouble  none");
    }

    /// Makes EC2 unreachable, or reachable again.
    pub fn set_ec2_unreachable(&self, unreachable: bool) {
        self.cloud
            .set_faults(|faults| faults.unreachable = unreachable);
        self.log
            .fault(format!("trouble  EC2 is unreachable: {unreachable}"));
    }

    /// Pauses a process until then: its requests do not arrive before, and it receives no answer.
    pub fn pause(&self, user: &str, until: Duration) {
        self.cloud.pause(user, until);
        self.set_link(|link| link.paused.push((user.to_owned(), until)));
        self.log
            .fault(format!("process  {user} is paused until {until:?}"));
    }

    fn set_link(&self, change: impl FnOnce(&mut Link)) {
        change(&mut self.link.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Link {
    fn spares(&self, request: &RequestInfo) -> bool {
        let watches = matches!(request.verb, Verb::Watch | Verb::List);
        self.spares_watches && (watches || request.resource == "leases")
    }

    fn fate(&mut self, request: &RequestInfo, chance: &mut Chance, log: &Log) -> Fate {
        let now = log.now();
        self.paused.retain(|(_, until)| *until > now);
        let paused = self.paused.iter().filter(|(user, _)| *user == request.user);
        if let Some(until) = paused.map(|(_, until)| *until).max() {
            return Fate::ServeAfter(until.saturating_sub(now));
        }
        let (from, to) = self.latency;
        let latency = chance.millis(from, to);
        let fate = if self.unreachable {
            match chance.between(0, 3) {
                0 => Fate::Hang,
                1 => Fate::Fail(503),
                _ => Fate::LoseRequest,
            }
        } else if !self.spares(request) && chance.permille(self.fault_rate) {
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
