//! The state of the server, and the effects of requests.

use std::sync::Arc;

use serde_json::Value;

use super::clock::Clock;
use super::gate::{Entry, Fate, Gate, Outcome, RequestInfo, Reversion, Reverter, Verb};
use super::kinds::{Kind, Trait};
use super::objects::{InterfaceRef, Objects, Written};
use super::read::{Asked, partial};
use super::refusal::Refusal;
use super::request::Request;
use super::store::Object;
use super::write::Part;

/// The state behind the lock.
pub(super) struct State {
    pub(super) objects: Objects,
    pub(super) gate: Option<Gate>,
    pub(super) reverter: Option<Reverter>,
    pub(super) history: Vec<Entry>,
    /// The maximum age, in versions, of a list or a read of any version.
    pub(super) staleness: u64,
    /// The delay until events reach watches.
    pub(super) watch_delay: std::time::Duration,
    /// The number of the current era. Watches of an earlier era end.
    pub(super) era: u64,
    /// The number of watches so far, and the first ones of them that are silent.
    pub(super) watches: u64,
    pub(super) silent: u64,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Answer {
    Text { code: u16, text: String },
    Watch(Start),
}

/// The start of a watch.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) kind: &'static Kind,
    pub(super) namespace: String,
    pub(super) asked: Asked,
    pub(super) bookmarks: bool,
    pub(super) seconds: Option<u64>,
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Text {
            code: refusal.code,
            text: refusal.status().to_string(),
        }
    }
}

impl State {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            objects: Objects::new(clock),
            gate: None,
            reverter: None,
            history: Vec::new(),
            staleness: 0,
            watch_delay: std::time::Duration::ZERO,
            era: 0,
            watches: 0,
            silent: 0,
        }
    }

    /// Adds a request to the history with the next number.
    pub(super) fn note(&mut self, info: &mut RequestInfo) {
        info.sequence = self.history.len() as u64;
        self.history.push(Entry {
            request: info.clone(),
            fate: Fate::Serve,
            outcome: None,
            arrived: self.objects.clock.elapsed(),
            answered: None,
        });
    }

    /// Executes a request. Returns the answer in the format of the API.
    pub(super) fn execute(&mut self, request: &Request) -> Answer {
        let before = self.to_write_again(request);
        match self.carry_out(request) {
            Ok((answer, written)) => {
                if let Some(before) = before {
                    self.write_again(request, &before.value, &written);
                }
                answer
            }
            Err(refusal) => refusal.into(),
        }
    }

    /// The state that a foreign controller writes again after this update.
    fn to_write_again(&self, request: &Request) -> Option<Arc<Object>> {
        let info = &request.info;
        if self.reversion(info) != Some(Reversion::Controller) {
            return None;
        }
        let place = InterfaceRef {
            kind: request.kind().ok()?,
            namespace: &info.namespace,
            name: &info.name,
        };
        self.objects.get(place).ok()
    }

    /// How another client reverts this update.
    fn reversion(&self, info: &RequestInfo) -> Option<Reversion> {
        self.reverter.as_ref().and_then(|reverter| reverter(info))
    }

    fn write_again(&mut self, request: &Request, before: &Value, written: &Value) {
        let mut before = before.clone();
        before["metadata"]["resourceVersion"] = written["metadata"]["resourceVersion"].clone();
        let mut info = request.info.clone();
        (info.user, info.verb, info.body) = ("reverter".to_owned(), Verb::Update, Arc::new(before));
        let mut request = Request::direct(info);
        self.note(&mut request.info);
        let _ = self.carry_out(&request);
    }

    /// Executes a request, and writes its outcome into the history.
    pub(super) fn carry_out(&mut self, request: &Request) -> Result<(Answer, Arc<Value>), Refusal> {
        let done = self.attempt(request);
        let (code, body) = match &done {
            Ok((Answer::Text { code, .. }, value)) => (*code, Arc::clone(value)),
            Ok((Answer::Watch(_), value)) => (200, Arc::clone(value)),
            Err(refusal) => (refusal.code, Arc::new(refusal.status())),
        };
        let outcome = Outcome {
            code,
            body,
            at: self.objects.clock.elapsed(),
            version: self.objects.store.version(),
            order: self.objects.store.order(),
        };
        if let Some(entry) = self.entry(request.info.sequence) {
            entry.outcome = Some(outcome);
        }
        done
    }

    pub(super) fn entry(&mut self, sequence: u64) -> Option<&mut Entry> {
        self.history.get_mut(usize::try_from(sequence).ok()?)
    }

    fn attempt(&mut self, request: &Request) -> Result<(Answer, Arc<Value>), Refusal> {
        let (info, kind) = (&request.info, request.kind()?);
        let place = InterfaceRef {
            kind,
            namespace: &info.namespace,
            name: &info.name,
        };
        let part = match info.subresource.as_str() {
            "" => Part::Object,
            "status" if kind.is(Trait::Status) => Part::Status,
            "binding" if kind.plural == "pods" && info.verb == Verb::Create => {
                return Ok(written(self.objects.bind(place, &info.body)?, false));
            }
            _ => return Err(Refusal::nowhere()),
        };
        let body = || Value::clone(&info.body);
        self.objects.reverted = self.reversion(info) == Some(Reversion::Webhook);
        let done = match info.verb {
            Verb::Create => self.objects.create(kind, &info.namespace, body())?,
            Verb::Update => self.objects.replace(place, part, body())?,
            Verb::Patch => {
                let how = request.patch_kind()?;
                self.objects.patch(place, part, how, &info.body)?
            }
            Verb::Delete => self.objects.delete(place, &info.body)?,
            Verb::Get => self.get(request, place)?,
            Verb::List => return self.list(request, kind),
            Verb::Watch => {
                let start = Start {
                    kind,
                    namespace: info.namespace.clone(),
                    asked: request.asked(kind)?,
                    bookmarks: request.bookmarks(),
                    seconds: request.timeout()?,
                };
                return Ok((Answer::Watch(start), Arc::default()));
            }
        };
        Ok(written(done, request.metadata_only()))
    }

    fn get(&self, request: &Request, place: InterfaceRef<'_>) -> Result<Written, Refusal> {
        let store = &self.objects.store;
        let asked = request.asked(place.kind)?.version;
        let version = store.version_for(asked, false, self.staleness)?;
        if version == store.version() {
            return self.objects.get(place).map(Written::Object);
        }
        let then = store.list(place.kind, place.namespace, version);
        let found = then.into_iter().find(|(key, _)| key.name == place.name);
        found
            .map(|(_, object)| Written::Object(object))
            .ok_or_else(|| Refusal::not_found(place.kind, place.name))
    }

    fn list(
        &self,
        request: &Request,
        kind: &'static Kind,
    ) -> Result<(Answer, Arc<Value>), Refusal> {
        let asked = request.asked(kind)?;
        let store = &self.objects.store;
        let list = store.page(kind, &request.info.namespace, &asked, self.staleness)?;
        let answer = Answer::Text {
            code: 200,
            text: list.text(kind, asked.metadata_only),
        };
        Ok((answer, Arc::new(list.summary())))
    }
}

fn written(done: Written, metadata_only: bool) -> (Answer, Arc<Value>) {
    let (code, text, value) = match done {
        Written::Success(status) => {
            let code = status["code"]
                .as_u64()
                .and_then(|code| code.try_into().ok());
            (code.unwrap_or(200), status.to_string(), Arc::new(status))
        }
        Written::Created(object) => (201, object.text().to_owned(), Arc::clone(&object.value)),
        Written::Object(object) => (200, object.text().to_owned(), Arc::clone(&object.value)),
    };
    let text = if metadata_only && value["kind"] != "Status" {
        partial(&value).to_string()
    } else {
        text
    };
    (Answer::Text { code, text }, value)
}
