//! The plot of the number of EC2 calls for many moves.

use std::sync::Mutex;

use super::plot::{Bar, bars};

static CALLS: Mutex<Vec<(&'static str, u64)>> = Mutex::new(Vec::new());

/// Stores the number of calls of a phase.
pub fn record(what: &'static str, calls: u64) {
    CALLS.lock().unwrap().push((what, calls));
}

/// The plot. For comparison it shows the calls if each address is detached and attached by separate calls.
pub fn svg() -> String {
    let measured = CALLS.lock().unwrap();
    let mut all = vec![Bar {
        label: "256 moves with two calls each".to_owned(),
        value: 512.0,
        text: "512".to_owned(),
    }];
    all.extend(measured.iter().map(|(what, calls)| Bar {
        label: (*what).to_owned(),
        value: f64::from(u32::try_from(*calls).unwrap_or(u32::MAX)),
        text: calls.to_string(),
    }));
    bars("EC2 calls that change something", &all)
}
