//! Describe lag: a Describe shows the state of some time ago ("eventually consistent").

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::state::Ec2;

/// The states within the last `lag`, and the state before them.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    /// Each state with the time from which it is valid.
    states: VecDeque<(Duration, Arc<Ec2>)>,
}

impl Snapshots {
    /// Stores the state that is valid from `now` on.
    pub fn record(&mut self, now: Duration, lag: Duration, state: &Ec2) {
        if self.states.is_empty() {
            // Before the first change EC2 was empty.
            self.states.push_back((Duration::ZERO, Arc::default()));
        }
        self.states.push_back((now, Arc::new(state.clone())));
        self.forget(now, lag);
    }

    /// The state that a Describe shows at `now`: the state at `now - lag`. After an increase of the lag, older states
    /// are no longer stored, so the shown state does not change until that much time has passed.
    pub fn seen(&mut self, now: Duration, lag: Duration) -> Arc<Ec2> {
        self.forget(now, lag);
        self.states
            .front()
            .map(|(_, state)| Arc::clone(state))
            .unwrap_or_default()
    }

    fn forget(&mut self, now: Duration, lag: Duration) {
        let Some(then) = now.checked_sub(lag) else {
            return;
        };
        while self.states.get(1).is_some_and(|(from, _)| *from <= then) {
            self.states.pop_front();
        }
    }
}
