//! The measured figures, with their goals and the figures of other controllers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name in `figures.json`.
    pub key: String,
    pub what: String,
    pub value: String,
    pub goal: String,
    /// The figure of CNCC, if there is one.
    pub cncc: String,
    /// The figure of eip-operator, if there is one.
    pub eip_operator: String,
}

static FIGURES: Mutex<Vec<Figure>> = Mutex::new(Vec::new());

impl Figure {
    pub fn new(key: &str, what: &str) -> Self {
        Self {
            key: key.to_owned(),
            what: what.to_owned(),
            value: String::new(),
            goal: String::new(),
            cncc: String::new(),
            eip_operator: String::new(),
        }
    }

    pub fn goal(mut self, goal: &str) -> Self {
        goal.clone_into(&mut self.goal);
        self
    }

    pub fn others(mut self, cncc: &str, eip_operator: &str) -> Self {
        cncc.clone_into(&mut self.cncc);
        eip_operator.clone_into(&mut self.eip_operator);
        self
    }

    /// Sets the measured value, and stores the figure.
    pub fn is(mut self, value: String) {
        println!("verified: {}: {value}", self.what);
        self.value = value;
        FIGURES.lock().unwrap().push(self);
    }
}

static MISSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Checks a count. If it is wrong, the benchmark continues, and fails at its end.
pub fn expect(holds: bool, otherwise: impl FnOnce() -> String) {
    if !holds {
        let text = otherwise();
        println!("missed: {text}");
        MISSED.lock().unwrap().push(text);
    }
}

static COMPLETE: AtomicBool = AtomicBool::new(false);

/// Ends the benchmark: fails if a check of [`expect`] failed.
pub fn end() {
    COMPLETE.store(true, Ordering::Relaxed);
    let missed = MISSED.lock().unwrap();
    assert!(missed.is_empty(), "missed: {missed:#?}");
}

/// Has everything been measured? Failed checks do not matter, because each figure is printed with its goal.
pub fn is_complete() -> bool {
    COMPLETE.load(Ordering::Relaxed)
}

/// All figures so far.
pub fn all() -> Vec<Figure> {
    FIGURES.lock().unwrap().clone()
}

/// A count as a float, to compute a share or a rate.
pub fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The median and the maximum of these times in milliseconds.
pub fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[values.len() - 1])
}
