//! EC2 is away for half an hour. Whoever has an address keeps it; what users wish for meanwhile waits, and
//! nothing piles up; when EC2 is back, everything is in place as soon as its token bucket lets it.

use std::time::Duration;

use super::Stage;
use super::crowd::{TURN, changed_since, claims, gather, in_place, until};
use super::deeds::Deeds;
use super::rest::rest;
use crate::world::Health;

/// So long it is away.
const AWAY: Duration = Duration::from_mins(30);
/// The longest pause between two tries (30 s), a look at EC2 (2 s) and its repetition (10 s), and a dozen moves of two
/// calls from a bucket that gives five a second.
const BACK: Duration = Duration::from_mins(1);

/// What is going on within a minute.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Requests to the API server, and calls of EC2.
    asked: usize,
    /// The most calls that waited for an answer at once.
    waiting: usize,
    /// The most tasks that there were at once, of Mooring and of everything else.
    tasks: usize,
}

impl Load {
    async fn of_a_minute(stage: &mut Stage) -> Self {
        let runtime = tokio::runtime::Handle::current();
        let asked = |stage: &Stage| {
            let requests = usize::try_from(stage.api.requests()).unwrap_or(usize::MAX);
            requests + stage.cloud.begun()
        };
        let (before, end) = (asked(stage), stage.log.now() + Duration::from_mins(1));
        let (mut waiting, mut tasks) = (0, 0);
        while stage.log.now() < end {
            stage.pass(TURN).await;
            waiting = waiting.max(stage.cloud.waiting());
            tasks = tasks.max(runtime.metrics().num_alive_tasks());
        }
        Self {
            asked: asked(stage) - before,
            waiting,
            tasks,
        }
    }

    /// Nobody has wished for anything since `earlier`: there is no more to do than there was, give or take what
    /// falls into one minute or the next.
    fn no_more_than(self, earlier: Self) -> Result<(), String> {
        let grows = self.asked > earlier.asked * 5 / 4 + 20
            || self.waiting > earlier.waiting + 2
            || self.tasks > earlier.tasks + 5;
        if grows {
            return Err(format!("something grows: {earlier:?} became {self:?}"));
        }
        Ok(())
    }
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage, seed: u64) -> Result<(), String> {
    gather(stage).await?;
    stage.troubles.cloud_away(true);
    let before = claims(stage);
    let sequence = stage.api.requests();
    let (begun, end) = (stage.log.now(), stage.log.now() + AWAY);
    until(stage, begun + Duration::from_mins(3)).await;
    let early = Load::of_a_minute(stage).await;
    // Processes come and go, kubelets restart: nobody has asked for anything.
    // Who begins now knows nothing of EC2; who goes on knows how it once was, which is as little.
    if stage.chance.one_in(2) {
        stage.replicas.kill(0).await;
    }
    until(stage, begun + Duration::from_mins(5)).await;
    stage.replicas.start_all();
    stage
        .world
        .blink("node-a", stage.log.now() + Duration::from_secs(20));
    until(stage, begun + Duration::from_mins(14)).await;
    let later = Load::of_a_minute(stage).await;
    later.no_more_than(early)?;
    let changed = changed_since(stage, sequence, &before);
    if !changed.is_empty() {
        return Err(format!(
            "nobody asked for it, and of {before:?} there became {changed:?}"
        ));
    }
    // Now users ask for something: it waits.
    let (rolled, touched) = (["ip-0", "ip-1", "ip-2"], ["ip-3", "ip-4", "ip-5"]);
    for index in 0..rolled.len() {
        stage.world.roll_out(index, false);
    }
    for name in touched {
        stage.world.restart_pods_of(name);
    }
    stage.world.set_health("node-b", Health::Silent);
    // The pods of the silent machine are told to go after 70 s, others are made, and nodes chosen for them.
    until(stage, begun + Duration::from_mins(20)).await;
    let early = Load::of_a_minute(stage).await;
    until(stage, end.saturating_sub(Duration::from_mins(1))).await;
    let late = Load::of_a_minute(stage).await;
    late.no_more_than(early)?;
    let mut changed = changed_since(stage, sequence, &before);
    // Of those that are gone for good an end is written down. Whoever lives keeps it, also on the machine that is
    // out of reach, and whatever is rolled out: nothing changes hands unseen.
    changed.retain(|name, _| !touched.contains(&name.as_str()));
    if !changed.is_empty() {
        return Err(format!("nobody asked for it, and there is {changed:?}"));
    }
    let sent = stage.cloud.sent();
    stage.troubles.cloud_away(false);
    stage.world.set_health("node-b", |_| Health::Well);
    let back = stage.log.now();
    in_place(stage, BACK).await.map_err(|missing| {
        format!("EC2 is back for {BACK:?}, and not everything is in place: {missing}")
    })?;
    let took = stage.log.now().saturating_sub(back);
    let calls = stage.cloud.sent() - sent;
    stage.log.say(format!(
        "rest     all is in place after {took:?} and {calls} calls"
    ));
    rest(stage, &mut Deeds::new(seed)).await
}
