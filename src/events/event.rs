//! An Event before it is posted.

use std::fmt;

use k8s_openapi::api::core::v1::ObjectReference;

/// The object that an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// Its API group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID: `kubectl describe` selects an object's Events by it.
    pub uid: Option<String>,
}

impl Subject {
    /// The namespace for Events about this object.
    pub(super) fn event_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl From<&Subject> for ObjectReference {
    fn from(subject: &Subject) -> Self {
        Self {
            api_version: Some(subject.api_version.clone()),
            kind: Some(subject.kind.to_owned()),
            namespace: subject.namespace.clone(),
            name: Some(subject.name.clone()),
            uid: subject.uid.clone(),
            ..Self::default()
        }
    }
}

/// An Event to be posted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewEvent {
    /// The object that it is about.
    pub subject: Subject,
    /// `Normal` or `Warning`.
    pub event_type: &'static str,
    /// What happened, in one word.
    pub reason: &'static str,
    /// The action that was made or tried, in one word.
    pub action: &'static str,
    /// What happened, in a sentence.
    pub note: String,
}
