//! The trace: one line for each event.

use std::time::Duration;

use crate::api_server::Entry;
use crate::log::Line;

/// The lines of the history of the API server and of the log, in one order.
pub(super) fn lines(history: &[Entry], log: &[Line]) -> Vec<String> {
    let mut all: Vec<((Duration, u64, u8, u64), String)> = Vec::new();
    for entry in history {
        let request = &entry.request;
        let (place, done) = match &entry.outcome {
            Some(outcome) => (
                (outcome.at, outcome.order, 0, request.sequence),
                format!("{} at {}: {}", outcome.code, outcome.version, outcome.body),
            ),
            None => (
                (entry.arrived, 0, 0, request.sequence),
                "not carried out".to_owned(),
            ),
        };
        let slash = |part: &str| {
            if part.is_empty() {
                String::new()
            } else {
                format!("/{part}")
            }
        };
        let object = format!(
            "{}{}{}{}",
            request.resource,
            slash(&request.namespace),
            slash(&request.name),
            slash(&request.subresource)
        );
        let (query, body) = (&request.query, &request.body);
        let text = format!(
            "#{} {} {} {object}?{query} {body} sent {:?}, {:?}, answered {:?}: {done}",
            request.sequence, request.user, request.verb, entry.arrived, entry.fate, entry.answered,
        );
        all.push((place, format!("api      {text}")));
    }
    for line in log {
        let place = (line.moment.at, line.moment.after, 1, line.moment.count);
        all.push((place, line.text.clone()));
    }
    all.sort_by_key(|(place, _)| *place);
    let shown = all
        .into_iter()
        .map(|((at, ..), text)| format!("{:>10.3} {text}", at.as_secs_f64()));
    shown.collect()
}
