//! Process states that are stored once. Many states of the model contain the same process state: the result of an input
//! to the same process state is computed once.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::controller_state::{ControllerState, Input};
use crate::shared::{Shared, fingerprint};

/// The number of shards of a cache, so that threads seldom wait for the same lock.
const SHARDS: u64 = 64;

type Shard = Mutex<HashMap<u64, Shared<ControllerState>>>;

static CACHE: LazyLock<Vec<Shard>> =
    LazyLock::new(|| (0..SHARDS).map(|_| Shard::default()).collect());

/// Equal process states that different inputs lead to: each is stored once.
static INTERNED: LazyLock<Vec<Shard>> =
    LazyLock::new(|| (0..SHARDS).map(|_| Shard::default()).collect());

/// A shard with this number of entries is emptied. Entries that are needed again are computed again.
const CAPACITY: usize = 1500;

fn interned(state: Shared<ControllerState>) -> Shared<ControllerState> {
    let key = fingerprint(&state);
    let shard = usize::try_from(key % SHARDS).unwrap_or_default();
    let mut shard = INTERNED[shard]
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if shard.len() >= CAPACITY {
        shard.clear();
    }
    shard.entry(key).or_insert(state).clone()
}

impl Shared<ControllerState> {
    /// The state after an input.
    pub fn after(&self, input: &Input) -> Self {
        let key = fingerprint(&(self, input));
        let shard = usize::try_from(key % SHARDS).unwrap_or_default();
        let shard = || CACHE[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shard().get(&key) {
            return known.clone();
        }
        let mut state = ControllerState::clone(self);
        state.apply(input);
        let state = interned(Self::new(state));
        let mut shard = shard();
        if shard.len() >= CAPACITY {
            shard.clear();
        }
        shard.insert(key, state.clone());
        state
    }
}

/// Empties the caches: the next configuration has other states.
pub fn clear_caches() {
    for shard in CACHE.iter().chain(INTERNED.iter()) {
        shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
