//! Crash and fault replay: applies every fault to every write of Mooring. Mooring is killed before or after the write,
//! the answer is lost or late, or the write is executed twice. The writes come from a clean run of the same story, so a
//! new write is covered automatically. The proxy and the emulator apply the faults, without any code in Mooring.
//!
//! Leases and Events are not replayed: no decision depends on an Event, and the lease has separate tests.
//!
//! `MOORING_REPLAY=all` runs everything. Otherwise an attach runs in full, and in every other story Mooring is killed
//! once: the model and the simulation also find the consequences of a fault at a write, in less time.

mod fault;
mod point;
mod round;
mod site;
mod story;

use std::sync::Mutex;

use crate::harness::scene::Scene;
use fault::Fault;
use point::Point;
use round::Replay;
use site::Site;
use story::Story;

scenes![
    alone an_attach_survives_every_fault_at_every_write,
    alone a_move_survives_every_fault_at_every_write,
    alone a_handover_survives_every_fault_at_every_write,
    alone an_edit_and_an_end_survive_every_fault_at_every_write,
    alone a_block_survives_every_fault_at_every_write,
    alone a_take_from_and_a_repair_survive_every_fault_at_every_write,
];

/// The number of replays that run in parallel. On two cores more are not faster.
const TOGETHER: usize = 10;

async fn an_attach_survives_every_fault_at_every_write(scene: &Scene) {
    replay(scene, &[Story::Attach], true).await;
}

async fn a_move_survives_every_fault_at_every_write(scene: &Scene) {
    let stories = [false, true].map(|reassign| Story::Move { reassign });
    replay(scene, &stories, false).await;
}

async fn a_handover_survives_every_fault_at_every_write(scene: &Scene) {
    let [detaching, moving] = [false, true].map(|reassign| Story::Handover { reassign });
    replay(scene, &[detaching, moving, Story::HandoverInPlace], false).await;
}

async fn an_edit_and_an_end_survive_every_fault_at_every_write(scene: &Scene) {
    let stories = [
        Story::Edit,
        Story::AnnotationRemoved,
        Story::PodDeleted,
        Story::IpDeleted,
    ];
    replay(scene, &stories, false).await;
}

async fn a_block_survives_every_fault_at_every_write(scene: &Scene) {
    let stories = [Story::BlockMade, Story::BlockDeleted];
    replay(scene, &stories, false).await;
}

async fn a_take_from_and_a_repair_survive_every_fault_at_every_write(scene: &Scene) {
    let stories = [Story::TakeFrom, Story::ReservationStripped];
    replay(scene, &stories, false).await;
}

/// Runs each story without a fault, then replays it with faults.
async fn replay(scene: &Scene, stories: &[Story], always_all: bool) {
    // Mooring writes the labels of a block on each node, so the stories of blocks have only one pair of nodes.
    let pairs = if stories.contains(&Story::BlockMade) {
        1
    } else {
        TOGETHER
    };
    let site = Site::open(scene, pairs).await;
    let runs = site.clean_runs(stories).await;
    for (story, points) in &runs {
        let points: Vec<String> = points.iter().map(ToString::to_string).collect();
        eprintln!("replay: {story:?} writes: {}", points.join("; "));
    }
    let everything = always_all || all_replays_are_requested();
    let replays = chosen(&runs, everything);
    let (killing, others): (Vec<Replay>, Vec<Replay>) = replays
        .iter()
        .cloned()
        .partition(|replay| replay.fault.kills());
    for replays in others.chunks(TOGETHER) {
        none_failed(&site.round(replays).await);
    }
    for replays in killing.chunks(TOGETHER) {
        none_failed(&site.round(replays).await);
    }
    site.close().await;
    let writes = runs.iter().map(|(_, points)| points.len()).sum();
    TOTALS.lock().unwrap().add(&Totals {
        stories: stories.len(),
        writes,
        replays: replays.len(),
        killed: killing.len(),
        partly: !everything,
    });
}

/// Prints failures at once, because the other scenes can take minutes.
fn none_failed(failed: &[String]) {
    for failure in failed {
        eprintln!("replay: FAILED: {failure}");
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn all_replays_are_requested() -> bool {
    std::env::var("MOORING_REPLAY").is_ok_and(|which| which == "all")
}

/// Every fault at every point, or one kill in each story, at a different point in each story.
fn chosen(runs: &[(Story, Vec<Point>)], everything: bool) -> Vec<Replay> {
    let mut replays = Vec::new();
    for (number, (story, points)) in runs.iter().enumerate() {
        let all = points.iter().flat_map(|point| {
            let faults = Fault::ALL.into_iter();
            let applicable = faults.filter(|fault| fault.applies_to(point));
            applicable.map(|fault| Replay {
                story: *story,
                point: point.clone(),
                fault,
            })
        });
        if everything {
            replays.extend(all);
            continue;
        }
        let kills: Vec<Replay> = all.filter(|replay| replay.fault.kills()).collect();
        let nth = (2 * number + 1) % kills.len().max(1);
        replays.extend(kills.into_iter().nth(nth));
    }
    replays
}

/// The totals of all scenes.
#[derive(Debug)]
struct Totals {
    stories: usize,
    writes: usize,
    replays: usize,
    killed: usize,
    partly: bool,
}

static TOTALS: Mutex<Totals> = Mutex::new(Totals {
    stories: 0,
    writes: 0,
    replays: 0,
    killed: 0,
    partly: false,
});

impl Totals {
    fn add(&mut self, other: &Self) {
        self.stories += other.stories;
        self.writes += other.writes;
        self.replays += other.replays;
        self.killed += other.killed;
        self.partly |= other.partly;
    }
}

/// Prints the totals, for the records.
pub fn report() {
    let totals = TOTALS.lock().unwrap();
    let Totals {
        stories,
        writes,
        replays,
        killed,
        partly,
    } = &*totals;
    if *stories == 0 {
        return;
    }
    let how = if *partly {
        "an attach with every fault, other stories with one kill each"
    } else {
        "every fault at every write"
    };
    println!(
        "verified: crash and fault replay: {stories} stories, {writes} writes, {replays} replays, of which {killed} \
         kill -9 ({how})"
    );
}
