//! What came of all seeds.

pub use crate::tamed::Outcome;

/// A seed counts with so much time, so many faults and so many moves.
const LEAST: (u64, u64, u64) = (600_000, 5, 1);

/// The sums.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many were played.
    pub seeds: u64,
    counting: u64,
    twice: u64,
    faults: u64,
    moves: u64,
    crashes: u64,
    by_hand: u64,
    requests: u64,
    simulated: u64,
}

impl Tally {
    /// One more.
    pub fn add(&mut self, outcome: &Outcome, twice: bool) {
        let (time, faults, moves) = LEAST;
        let counts =
            outcome.simulated >= time && outcome.faults >= faults && outcome.moves >= moves;
        self.seeds += 1;
        self.counting += u64::from(counts);
        self.twice += u64::from(twice);
        self.faults += outcome.faults;
        self.moves += outcome.moves;
        self.crashes += outcome.crashes;
        self.by_hand += outcome.by_hand;
        self.requests += outcome.requests;
        self.simulated += outcome.simulated;
    }

    /// In a line.
    pub fn say(&self, scenario: &str, seconds: f64, cpu: f64) -> String {
        let Self {
            seeds,
            counting,
            twice,
            faults,
            moves,
            crashes,
            by_hand,
            requests,
            simulated,
        } = self;
        let hours = simulated / 3_600_000;
        #[allow(clippy::cast_precision_loss, reason = "these are for people")]
        let (a_minute, each) = (
            *counting as f64 * 60.0 / seconds.max(0.01),
            cpu / ((seeds + twice).max(1)) as f64,
        );
        format!(
            "verified: {seeds} seeds of {scenario}, {counting} of them with 10 simulated minutes, 5 faults and a move; \
             {hours} simulated hours, {requests} requests, {faults} faults that took effect, {moves} moves, \
             {crashes} crashes, {by_hand} things set right by hand; {twice} seeds played twice were equal; {a_minute:.0} seeds a minute, {each:.3} s of \
             CPU each"
        )
    }
}
