//! 256 moves from 8 nodes to 8 others, all pending when the leader starts.

use std::ops::Range;
use std::time::{Duration, Instant};

use mooring_cluster::MooringOptions;

use super::calls_svg;
use super::cluster::{Bench, SIDE, options};
use super::counted::Counted;
use super::figures::{Figure, expect};

pub const MOVES: usize = 256;

/// The state of the token buckets of EC2 at the begin of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buckets {
    Full,
    Empty,
}

impl Buckets {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Empty => "empty",
        }
    }

    pub async fn set(self, bench: &Bench<'_>) {
        bench.full_buckets().await;
        if self == Self::Empty {
            bench.empty_buckets().await;
        }
    }

    /// The number of calls that EC2 executed. For empty buckets also the minimum time in which EC2 can execute them.
    pub fn cost(self, counted: &Counted) -> String {
        let executed = counted.mutations();
        if self == Self::Full {
            return executed.to_string();
        }
        // Assign and Unassign have a bucket each.
        let calls = u32::try_from(counted.assigns.max(counted.unassigns)).unwrap_or(u32::MAX);
        let throttled = counted.throttled;
        format!(
            "{executed} ({throttled} more throttled; at least {:.1} s)",
            f64::from(calls) / 5.0
        )
    }

    /// Adds the figure of moves. With full buckets the calls are plotted too.
    pub fn report(self, phase: &Phase, counted: &Counted, value: &str) {
        let Phase {
            key,
            name,
            what,
            goal,
        } = phase;
        if self == Self::Full {
            calls_svg::record(name, counted.mutations());
            Figure::new(key, &format!("{name}: {what}"))
                .goal(goal)
                .is(value.to_owned());
        } else {
            let what = format!("{name}, EC2's buckets empty: the same");
            Figure::new(&format!("{key}-empty"), &what)
                .goal("1.1 x calls / 5 s")
                .is(value.to_owned());
        }
    }
}

/// The texts of the figure of a phase.
pub struct Phase {
    pub key: &'static str,
    pub name: &'static str,
    /// The measured quantity, with full buckets.
    pub what: &'static str,
    /// The goal with full buckets.
    pub goal: &'static str,
}

/// The IPs that are moved, and the nodes of their pods.
pub struct MovingIps {
    pub ips: Range<usize>,
    /// The prefix of the pods that hold them.
    pub holder: String,
    pub here: Range<usize>,
    pub there: Range<usize>,
    moves: usize,
}

impl MovingIps {
    pub async fn new(bench: &mut Bench<'_>) -> Self {
        let ips = bench.more_ips(MOVES).await;
        let moving = Self {
            ips,
            holder: "moved-0".to_owned(),
            here: SIDE..2 * SIDE,
            there: 2 * SIDE..3 * SIDE,
            moves: 0,
        };
        bench.full_buckets().await;
        bench
            .pods(&moving.holder, moving.ips.clone(), &moving.here)
            .await;
        bench.attached(&moving.holder, MOVES).await;
        bench.attached += MOVES;
        moving
    }

    /// The prefix of the next pods, on the other nodes.
    pub fn next(&self) -> String {
        format!("moved-{}", self.moves + 1)
    }

    /// The next pods have become the holders.
    pub fn moved(&mut self) {
        self.moves += 1;
        self.holder = format!("moved-{}", self.moves);
        std::mem::swap(&mut self.here, &mut self.there);
    }
}

/// When the leader starts, the old holders are gone and the new pods wait for the IPs.
pub async fn waiting(bench: &mut Bench<'_>, moving: &mut MovingIps, buckets: Buckets) {
    let scene = bench.scene;
    // This process answers reviews while the leader is stopped.
    let answering = scene
        .mooring_with(MooringOptions {
            arguments: vec!["--controller=false".to_owned()],
            ..options()
        })
        .await;
    assert!(bench.mooring.terminate().await.success());
    let next = moving.next();
    bench.pods(&next, moving.ips.clone(), &moving.there).await;
    bench.bound(&next, MOVES).await;
    let ends = moving
        .ips
        .clone()
        .map(|number| format!("{}-{number}", moving.holder));
    for name in ends {
        bench.end_pod(&name).await;
    }
    buckets.set(bench).await;
    let (mark, started) = (bench.mark().await, Instant::now());
    bench.mooring = scene.mooring_with(options()).await;
    bench.attached(&next, MOVES).await;
    let took = started.elapsed();
    let counted = bench.since(&mark).await;
    moving.moved();
    let executed = counted.mutations();
    buckets.report(
        &Phase {
            key: "drain",
            name: "256 moves that wait for the leader",
            what: "EC2 calls, time from its start to the last pod that is ready",
            goal: "16 calls",
        },
        &counted,
        &format!("{}, {:.1} s", buckets.cost(&counted), took.as_secs_f64()),
    );
    // With empty buckets the requests wait for tokens, and meanwhile every move comes.
    let most = match buckets {
        Buckets::Full => most_calls(1, took),
        Buckets::Empty => most_calls(1, Duration::ZERO),
    };
    expect(u128::from(executed) <= most, || {
        format!("{executed} calls for 256 moves that wait, in {took:.1?}: more than {most}")
    });
    assert!(answering.terminate().await.success());
    bench.quiet_leader().await;
}

/// The most calls for 256 moves: this many for each interface if all moves took less than 6 s. On a slower machine the
/// claims take longer than a request waits for them, and an interface with calls that wait has a request every 2 s
/// (R5.29).
pub fn most_calls(each: u128, took: Duration) -> u128 {
    let interfaces = 16;
    let more = took.saturating_sub(Duration::from_secs(6)).as_millis();
    interfaces * (each + more.div_ceil(2000))
}
