//! Rounds: many replays in parallel, each with its own objects. Replays with a kill share one process, which is killed
//! when each of them has reached its point.

use std::fmt;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use futures::future::join_all;

use super::fault::{Fault, Placed, Settled, place};
use super::point::{self, Point};
use super::site::{Lot, Site, take_away};
use super::story::Story;
use crate::harness::runner::message;
use crate::harness::scene::{SOON, Scene};

/// One fault at one point of a story.
#[derive(Clone, Debug)]
pub struct Replay {
    pub story: Story,
    pub point: Point,
    pub fault: Fault,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?} at `{}`", self.story, self.fault, self.point)
    }
}

/// The maximum number of tries of a replay. It is repeated if its write was refused, so that the fault was not applied.
const TRIES: usize = 3;
/// The number of inventories without a write after which Mooring counts as at rest.
const REST: u64 = 3;

impl Site<'_> {
    /// Runs each story once without a fault. Returns its writes in order.
    pub async fn clean_runs(&self, stories: &[Story]) -> Vec<(Story, Vec<Point>)> {
        let lots: Vec<Lot<'_>> = stories.iter().map(|story| self.lot(*story)).collect();
        join_all(lots.iter().map(|lot| lot.story.prepare(lot))).await;
        self.expect_rest().await;
        let mark = self.proxy.count();
        let executed = self.scene.ec2().history().await.len();
        join_all(lots.iter().map(|lot| lot.story.begin(lot))).await;
        join_all(lots.iter().map(|lot| lot.story.end(lot))).await;
        self.expect_rest().await;
        let history = self.scene.ec2().history().await.split_off(executed);
        let mut runs = Vec::new();
        for lot in &lots {
            let mut ours = history.clone();
            ours.retain(|mutation| {
                let addresses = &lot.names.addresses;
                mutation.action.ends_with("PrivateIpAddresses")
                    && mutation
                        .addresses
                        .iter()
                        .any(|address| addresses.contains(address))
            });
            let points = point::of_run(lot, mark, &ours);
            assert!(!points.is_empty(), "{:?} wrote nothing", lot.story);
            runs.push((lot.story, points));
        }
        take_away(&lots).await;
        runs
    }

    /// Runs replays, either all with a kill or all without. Returns the failures.
    pub async fn round(&self, replays: &[Replay]) -> Vec<String> {
        let mut left = replays.to_vec();
        for _ in 0..TRIES {
            let kills = left.iter().any(|replay| replay.fault.kills());
            let outcome = if kills {
                self.killing_round(&left).await
            } else {
                self.quiet_round(&left).await
            };
            match outcome {
                Ok(refused) if refused.is_empty() => return Vec::new(),
                Ok(refused) => left = refused,
                Err(failed) => return failed,
            }
        }
        left.iter()
            .map(|replay| format!("{replay}: refused {TRIES} times"))
            .collect()
    }

    /// Runs replays without a kill. Returns those whose write was refused, or the failures.
    async fn quiet_round(&self, replays: &[Replay]) -> Result<Vec<Replay>, Vec<String>> {
        let lots: Vec<Lot<'_>> = replays
            .iter()
            .map(|replay| self.lot(replay.story))
            .collect();
        let runs = lots.iter().zip(replays).map(async |(lot, replay)| {
            lot.story.prepare(lot).await;
            let placed = place(lot, &replay.point, replay.fault).await;
            let ((), ()) = futures::join!(placed.strike(), lot.story.begin(lot));
            lot.story.end(lot).await;
            placed.settle().unwrap_or_else(|error| panic!("{error}"))
        });
        let settled = outcomes(replays, join_all(runs.map(caught)).await)?;
        self.expect_rest().await;
        take_away(&lots).await;
        Ok(refused(replays, &settled))
    }

    /// Runs replays with a kill: one process is killed for all of them. Returns those whose write was refused, or the
    /// failures.
    async fn killing_round(&self, replays: &[Replay]) -> Result<Vec<Replay>, Vec<String>> {
        let lots: Vec<Lot<'_>> = replays
            .iter()
            .map(|replay| self.lot(replay.story))
            .collect();
        join_all(lots.iter().map(|lot| lot.story.prepare(lot))).await;
        let placed = lots
            .iter()
            .zip(replays)
            .map(|(lot, replay)| place(lot, &replay.point, replay.fault));
        let placed: Vec<Placed<'_>> = join_all(placed).await;
        let struck = placed.iter().zip(&lots).map(async |(placed, lot)| {
            futures::join!(placed.strike(), lot.story.begin(lot));
        });
        outcomes(replays, join_all(struck.map(caught)).await)?;
        self.kill9().await;
        self.drop_calls().await;
        let settled = placed.iter().map(Placed::settle).collect();
        let settled = outcomes(replays, settled)?;
        self.start_again().await;
        let ended = lots.iter().map(async |lot| lot.story.end(lot).await);
        outcomes(replays, join_all(ended.map(caught)).await)?;
        self.expect_rest().await;
        take_away(&lots).await;
        Ok(refused(replays, &settled))
    }

    /// Removes all faults, and drops the calls of the killed process that EC2 has not executed.
    async fn drop_calls(&self) {
        let ec2 = self.scene.ec2();
        ec2.clear_faults().await;
        let mut faults: Vec<u64> = ec2.held().await.iter().map(|call| call.fault).collect();
        faults.sort_unstable();
        faults.dedup();
        for fault in faults {
            ec2.drop_held(mooring_cluster::FaultId(fault)).await;
        }
    }

    /// Waits for a few inventories without a write to Kubernetes or to EC2.
    pub async fn expect_rest(&self) {
        let scene: &Scene = self.scene;
        let looked = async || scene.ec2().calls().await.of("DescribeNetworkInterfaces");
        scene
            .eventually("a few inventories without a write", SOON * 4, async || {
                let (written, executed) = (self.proxy.count(), scene.ec2().history().await.len());
                let begin = looked().await;
                scene
                    .eventually("inventories go on", SOON, async || {
                        looked().await >= begin + REST
                    })
                    .await;
                let mut writes = self.proxy.writes_since(written);
                writes.retain(|write| write.resource != "leases");
                let calls = scene.ec2().history().await.len() - executed;
                if writes.is_empty() && calls == 0 {
                    Ok(())
                } else {
                    Err(format!("{calls} calls, and {writes:#?}"))
                }
            })
            .await;
    }
}

/// The result of a replay, or the message of its panic.
async fn caught<T>(replay: impl Future<Output = T>) -> Result<T, String> {
    let outcome = AssertUnwindSafe(replay).catch_unwind().await;
    outcome.map_err(|panic| message(&*panic))
}

/// The results of all replays, or the failures.
fn outcomes<T>(
    replays: &[Replay],
    outcomes: Vec<Result<T, String>>,
) -> Result<Vec<T>, Vec<String>> {
    let (mut returned, mut failed) = (Vec::new(), Vec::new());
    for (replay, outcome) in replays.iter().zip(outcomes) {
        match outcome {
            Ok(value) => returned.push(value),
            Err(error) => failed.push(format!("{replay}:\n{error}")),
        }
    }
    if failed.is_empty() {
        Ok(returned)
    } else {
        Err(failed)
    }
}

fn refused(replays: &[Replay], settled: &[Settled]) -> Vec<Replay> {
    let both = replays.iter().zip(settled);
    both.filter(|(_, settled)| **settled == Settled::Refused)
        .map(|(replay, _)| replay.clone())
        .collect()
}
