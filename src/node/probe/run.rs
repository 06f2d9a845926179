//! When attempts are made: all addresses of the node at the same time, a few attempts at once, spread over the interval.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::attempt::attempt;
use super::order::{Order, Orders};
use super::outcome::{Attempt, Found, Outcomes, Progress};

/// Limits of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long one may take.
    pub time: Duration,
    /// How many are made at the same time.
    pub together: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3),
            together: 8,
        }
    }
}

/// The probe of one address.
struct Probing {
    order: Order,
    due: Instant,
    /// Whether an attempt was made.
    begun: bool,
    running: Option<AbortHandle>,
    progress: Progress,
}

type Done = (String, Attempt);

/// Probes what is ordered until the sender of the orders is gone.
pub async fn run(
    mut orders: watch::Receiver<Orders>,
    outcomes: watch::Sender<Outcomes>,
    limits: Limits,
) {
    let mut probes: BTreeMap<String, Probing> = BTreeMap::new();
    let mut attempts: JoinSet<Done> = JoinSet::new();
    orders.mark_changed();
    loop {
        let idle = probes.iter().filter(|(_, probe)| probe.running.is_none());
        let next = idle.min_by_key(|(_, probe)| probe.due);
        let next = next.map(|(ip, probe)| (ip.clone(), probe.due));
        let due = next.as_ref().map_or_else(Instant::now, |(_, due)| *due);
        tokio::select! {
            changed = orders.changed() => {
                if changed.is_err() {
                    return;
                }
                follow(&mut probes, &orders.borrow_and_update());
            }
            Some(done) = attempts.join_next_with_id() => {
                // One that was given up has no result.
                if let Ok((id, done)) = done {
                    take_in(&mut probes, id, &done);
                }
            }
            () = sleep_until(due), if next.is_some() && attempts.len() < limits.together => {
                if let Some(probe) = next.and_then(|(ip, _)| Some((probes.get_mut(&ip)?, ip))) {
                    begin(probe, &mut attempts, limits.time);
                }
            }
        }
        publish(&probes, &outcomes);
    }
}

/// Another subject starts without an outcome, with an attempt at once. Another way for the same subject keeps what is known.
fn follow(probes: &mut BTreeMap<String, Probing>, orders: &Orders) {
    probes.retain(|ip, probe| {
        let same = orders.get(ip) == Some(&probe.order);
        if let Some(running) = probe.running.take_if(|_| !same) {
            running.abort();
        }
        orders.contains_key(ip)
    });
    for (ip, order) in orders {
        let before = probes.get(ip);
        if before.is_some_and(|probe| probe.order == *order) {
            continue;
        }
        let known = before.filter(|probe| probe.order.subject == order.subject);
        let progress = known.map(|probe| probe.progress.clone());
        let probe = Probing {
            order: order.clone(),
            due: Instant::now(),
            begun: false,
            running: None,
            progress: progress.unwrap_or_default(),
        };
        probes.insert(ip.clone(), probe);
    }
}

fn begin((probe, ip): (&mut Probing, String), attempts: &mut JoinSet<Done>, limit: Duration) {
    let interval = probe.order.interval;
    // Many addresses that begin at once, as after a start, come apart with the second attempt.
    let wait = if probe.begun {
        interval
    } else {
        spread(&ip, interval)
    };
    probe.due = Instant::now() + wait;
    probe.begun = true;
    let order = probe.order.clone();
    let running = attempts.spawn(async move {
        let found = attempt(&order, limit).await;
        (ip, found)
    });
    probe.running = Some(running);
}

/// From half of the interval to one and a half, another time for each IP.
fn spread(ip: &str, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    ip.hash(&mut hasher);
    let part = u32::try_from(hasher.finish() % 1000).unwrap_or_default();
    interval / 2 + interval / 1000 * part
}

/// The result of an attempt that was given up counts no more.
fn take_in(probes: &mut BTreeMap<String, Probing>, id: Id, (ip, found): &Done) {
    let Some(probe) = probes.get_mut(ip) else {
        return;
    };
    if probe
        .running
        .take_if(|running| running.id() == id)
        .is_some()
    {
        probe.progress = probe.progress.after(&probe.order.subject, found);
    }
}

fn publish(probes: &BTreeMap<String, Probing>, outcomes: &watch::Sender<Outcomes>) {
    let found = probes.iter().filter_map(|(ip, probe)| {
        let found = Found {
            subject: probe.order.subject.clone(),
            outcome: probe.progress.outcome()?.clone(),
        };
        Some((ip.clone(), found))
    });
    let found: Outcomes = found.collect();
    outcomes.send_if_modified(|before| {
        let differs = *before != found;
        *before = found;
        differs
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_attempts_of_many_are_spread_over_an_interval() {
        let interval = Duration::from_secs(30);
        let mut times: Vec<_> = (0..200)
            .map(|number| spread(&format!("ip-{number}"), interval))
            .collect();
        times.sort();
        assert!(times.iter().all(|time| *time >= interval / 2));
        assert!(times.iter().all(|time| *time < interval / 2 * 3));
        // No two seconds have more than a few of them.
        let most = times
            .windows(30)
            .map(|some| some[29].abs_diff(some[0]))
            .min();
        assert!(most.unwrap() > Duration::from_secs(2), "{times:?}");
    }
}
