//! Schedules the attempts: all addresses of the node in parallel, few attempts at once, spread over the interval.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::attempt::attempt;
use super::order::{Order, Orders};
use super::outcome::{Attempt, ProbeResults, ProbeState, SubjectResult};

/// Limits for attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Timeout of one attempt.
    pub time: Duration,
    /// The most attempts at the same time.
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
    /// Whether the first attempt was started.
    begun: bool,
    running: Option<AbortHandle>,
    progress: ProbeState,
}

type Done = (String, Attempt);

/// Runs the probes in `orders` until the sender of the orders is dropped.
pub async fn run(
    mut orders: watch::Receiver<Orders>,
    outcomes: watch::Sender<ProbeResults>,
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
                // An aborted attempt has no result.
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

/// Applies new orders. A new claim or target starts without an outcome and is probed at once. If only the route to the
/// same target changes, its progress is kept.
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
        let known = before.filter(|probe| probe.order.probed == order.probed);
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
    // Many addresses can start at the same time, for example after a restart. Their second attempts are spread.
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

/// A time between 0.5 and 1.5 intervals, different for each IP.
fn spread(ip: &str, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    ip.hash(&mut hasher);
    let part = u32::try_from(hasher.finish() % 1000).unwrap_or_default();
    interval / 2 + interval / 1000 * part
}

/// Applies a result. The result of an attempt that was replaced since is ignored.
fn take_in(probes: &mut BTreeMap<String, Probing>, id: Id, (ip, found): &Done) {
    let Some(probe) = probes.get_mut(ip) else {
        return;
    };
    if probe
        .running
        .take_if(|running| running.id() == id)
        .is_some()
    {
        probe.progress = probe.progress.after(&probe.order.probed, found);
    }
}

fn publish(probes: &BTreeMap<String, Probing>, outcomes: &watch::Sender<ProbeResults>) {
    let found = probes.iter().filter_map(|(ip, probe)| {
        let found = SubjectResult {
            probed: probe.order.probed.clone(),
            outcome: probe.progress.outcome()?.clone(),
        };
        Some((ip.clone(), found))
    });
    let found: ProbeResults = found.collect();
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
        // At most a few of them are within any two seconds.
        let most = times
            .windows(30)
            .map(|some| some[29].abs_diff(some[0]))
            .min();
        assert!(most.unwrap() > Duration::from_secs(2), "{times:?}");
    }
}
