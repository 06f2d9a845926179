//! R5.33: no process repeats a request at a high rate, also if another client reverts its effect each time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::Broken;
use super::objects::text;
use crate::api_server::{Entry, RequestInfo, Verb};
use crate::cloud::Call;
use crate::replicas::is_ours;

/// The period in which requests are counted.
const PERIOD: Duration = Duration::from_secs(10);
/// The maximum number of requests of one process for one object, with the same verb and subresource, in this period.
const MOST: usize = 40;

/// Checks the requests to the API server, except watches, lists and Events, and the calls that change EC2.
pub(super) fn limited(history: &[Entry], calls: &[Call]) -> Result<(), Broken> {
    let mut recent: BTreeMap<String, VecDeque<Duration>> = BTreeMap::new();
    let mut sent = |what: String, at: Duration| {
        let times = recent.entry(what.clone()).or_default();
        times.push_back(at);
        while times.front().is_some_and(|first| *first + PERIOD <= at) {
            times.pop_front();
        }
        if times.len() > MOST {
            let count = times.len();
            return Err(Broken {
                at,
                sentence: format!("{what} is sent {count} times within {PERIOD:?}"),
            });
        }
        Ok(())
    };
    for entry in history {
        let request = &entry.request;
        let regular =
            matches!(request.verb, Verb::List | Verb::Watch) || request.resource == "events";
        if !is_ours(&request.user) || regular {
            continue;
        }
        let name = match request.verb {
            Verb::Create => text(&request.body, "/metadata/name"),
            _ => &request.name,
        };
        let RequestInfo {
            user,
            verb,
            resource,
            namespace,
            subresource,
            ..
        } = request;
        let what = format!("{user}'s {verb} of {resource} {namespace}/{name} {subresource}");
        sent(what, entry.arrived)?;
    }
    for call in calls {
        for address in &call.addresses {
            let what = format!(
                "{}'s {} of {address} on {}",
                call.client, call.action, call.interface
            );
            sent(what, call.sent.at)?;
        }
    }
    Ok(())
}
