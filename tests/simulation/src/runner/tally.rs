//! The sums over all seeds.

pub use crate::determinism::Outcome;

/// A seed counts if it has at least this simulated time (in milliseconds), and this number of faults and of moves.
const LEAST: (u64, u64, u64) = (600_000, 5, 1);

/// The sums.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of seeds that ran.
    pub seeds: u64,
    counting: u64,
    twice: u64,
    faults: u64,
    moves: u64,
    crashes: u64,
    manual_changes: u64,
    requests: u64,
    together: u64,
    simulated: u64,
}

impl Tally {
    /// Adds a seed.
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
        self.manual_changes += outcome.manual_changes;
        self.requests += outcome.requests;
        self.together += outcome.together;
        self.simulated += outcome.simulated;
    }

    /// The summary in one line.
    pub fn summary(&self, scenario: &str, seconds: f64, cpu: f64) -> String {
        let Self {
            seeds,
            counting,
            twice,
            faults,
            moves,
            crashes,
            manual_changes,
            requests,
            together,
            simulated,
        } = self;
        let hours = simulated / 3_600_000;
        #[allow(clippy::cast_precision_loss, reason = "the numbers are for a report")]
        let (a_minute, each) = (
            *counting as f64 * 60.0 / seconds.max(0.01),
            cpu / ((seeds + twice).max(1)) as f64,
        );
        format!(
            "verified: {seeds} seeds of {scenario}, {counting} of them with 10 simulated minutes, 5 faults and a move; \
             {hours} simulated hours, {requests} requests, {together} calls with several addresses, {faults} faults that took effect, {moves} moves, \
             {crashes} crashes, {manual_changes} manual corrections; {twice} seeds that ran twice were equal; {a_minute:.0} seeds a minute, {each:.3} s of \
             CPU each"
        )
    }
}
