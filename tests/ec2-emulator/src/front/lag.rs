//! Describe lag: a Describe shows the state of some time ago ("eventually consistent").

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::state::Ec2;

/// The states of the last `lag`, and the one before.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    /// Each with the time from which it holds; never two of one time.
    states: VecDeque<(Duration, Arc<Ec2>)>,
}

impl Snapshots {
    /// The state is this one from `now` on.
    pub fn record(&mut self, now: Duration, lag: Duration, state: &Ec2) {
        if self.states.is_empty() {
            // Before the first change there was nothing.
            self.states.push_back((Duration::ZERO, Arc::default()));
        }
        self.states.push_back((now, Arc::new(state.clone())));
        self.forget(now, lag);
    }

    /// What a Describe shows at `now`: the state of `lag` ago. A lag that was raised reaches back no
    /// further than what was still known: the state stands still until that much time has passed.
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
