//! Parameters of lists and watches.

use std::time::Duration;

use backon::ExponentialBuilder;
use futures::{Stream, TryStreamExt as _};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{Event, ExponentialBackoff, Result as WatchResult};
use kube::runtime::{WatchStreamExt as _, watcher};

use super::read::{Fields, Reduced};

/// Page size of the first list of a watch. An answer is parsed into trees that take many times the memory of the fields
/// that are kept, for six kinds at a time, and the allocator does not return that memory to the system.
const WATCH_PAGE: u32 = 25;

/// Page size of the list of a new leader. Only one runs at a time, and the leader waits for it.
const LIST_PAGE: u32 = 100;

/// The API server ends a watch after this time, in seconds (R1.22). A connection without data for a little longer is
/// broken.
pub const WATCH_SECONDS: u32 = 45;

/// Wait after the first failure of a watch.
const FIRST_WAIT: Duration = Duration::from_millis(800);

/// The longest wait. Up to as much again is added at random, so a watch continues at most 10 s after an outage. The
/// default of kube is 30 s, and so 60 s. While the API server is away, a replica with its nine watches makes about one
/// request in a second, and a node part with its three one in 2.5 s.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A failure that comes later than this after the last one is a first one again. An item of the watch has the same
/// effect, but a quiet kind has none.
const RESET_AFTER: Duration = Duration::from_secs(30);

/// A watch that begins with a list.
#[must_use]
pub fn watch() -> watcher::Config {
    watcher::Config::default()
        .timeout(WATCH_SECONDS)
        .page_size(WATCH_PAGE)
}

/// The events of a list and of the following watch, with the fields that are used. It never ends: errors are retried.
pub fn events<F: Fields>(
    api: Api<Reduced<F>>,
    config: watcher::Config,
) -> impl Stream<Item = WatchResult<Event<DynamicObject>>> {
    watcher(api, config).backoff(backoff()).map_ok(unreduced)
}

/// The waits between the tries of a watch that fails.
#[must_use]
pub fn backoff() -> impl Backoff {
    let waits = ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times();
    ResetTimerBackoff::new(ExponentialBackoff::from(waits), RESET_AFTER)
}

fn unreduced<F>(event: Event<Reduced<F>>) -> Event<DynamicObject> {
    match event {
        Event::Apply(object) => Event::Apply(object.into()),
        Event::Delete(object) => Event::Delete(object.into()),
        Event::InitApply(object) => Event::InitApply(object.into()),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

/// Parameters of the first page of a list. Without a resourceVersion the list has the newest version.
#[must_use]
pub fn list() -> ListParams {
    ListParams::default().limit(LIST_PAGE)
}

/// Parameters of the next page. None: there is none. `params` and `continue_token` are those of the last page.
#[must_use]
pub fn next_page(params: &ListParams, continue_token: Option<String>) -> Option<ListParams> {
    let token = continue_token.filter(|token| !token.is_empty())?;
    Some(params.clone().continue_token(&token))
}

#[cfg(test)]
mod tests;
