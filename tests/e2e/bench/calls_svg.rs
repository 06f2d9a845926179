//! The plot of the EC2 calls that many moves take.

use std::sync::Mutex;

use super::plot::{Bar, bars};

static CALLS: Mutex<Vec<(&'static str, u64)>> = Mutex::new(Vec::new());

/// The calls of a phase.
pub fn record(what: &'static str, calls: u64) {
    CALLS.lock().unwrap().push((what, calls));
}

/// With what the same moves take if each address is detached and attached by calls of its own.
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
