//! The object version that each write was decided from, from the traces of the processes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::log::Log;

/// The tracing target of Mooring for decisions.
const DECIDED: &str = "mooring::decided";
/// The span of a process, which identifies its traces.
pub const PROCESS: &str = "process of mooring";

/// A write that was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// The process.
    pub user: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The namespace. Empty: none.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The version that the decision was made from.
    pub version: String,
    /// The time of the decision.
    pub at: Duration,
}

/// All decisions, in order. Clones share the same list.
#[derive(Clone)]
pub struct Decisions {
    log: Log,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Default)]
struct Inside {
    processes: BTreeMap<u64, String>,
    entered: Vec<u64>,
    decided: Vec<Decided>,
}

impl Decisions {
    /// Collects all traces of this process from now on. It can be called once.
    ///
    /// # Panics
    /// A collector is installed already.
    #[must_use]
    pub fn listen(log: Log) -> Self {
        let decisions = Self {
            log,
            inside: Arc::default(),
        };
        tracing::subscriber::set_global_default(decisions.clone()).expect("one seed runs");
        decisions
    }

    /// All decisions so far.
    #[must_use]
    pub fn all(&self) -> Vec<Decided> {
        self.lock().decided.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a field.
fn set(of: &mut Decided, field: &Field, text: String) {
    match field.name() {
        "user" => of.user = text,
        "resource" => of.resource = text,
        "namespace" => of.namespace = text,
        "name" => of.name = text,
        "version" => of.version = text,
        _ => {}
    }
}

impl Visit for Decided {
    fn record_str(&mut self, field: &Field, value: &str) {
        set(self, field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        set(self, field, format!("{value:?}"));
    }
}

impl Subscriber for Decisions {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == DECIDED || metadata.name() == PROCESS
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut reported = Decided::default();
        span.record(&mut reported);
        let mut inside = self.lock();
        let id = inside.processes.len() as u64 + 1;
        inside.processes.insert(id, reported.user);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut decided = Decided {
            at: self.log.now(),
            ..Decided::default()
        };
        event.record(&mut decided);
        let mut inside = self.lock();
        let process = inside.entered.last();
        decided.user = process
            .and_then(|id| inside.processes.get(id))
            .cloned()
            .unwrap_or_default();
        inside.decided.push(decided);
    }

    fn enter(&self, span: &Id) {
        self.lock().entered.push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        let id = span.into_u64();
        let mut inside = self.lock();
        if let Some(at) = inside.entered.iter().rposition(|entered| *entered == id) {
            inside.entered.remove(at);
        }
    }
}
