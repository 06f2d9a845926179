//! Reads of one object or a list, at the requested version.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::Kind;
use super::refusal::Refusal;
use super::selector::Selector;
use super::store::{Key, Object, Store};

/// The parameters of a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) selector: Selector,
    pub(super) limit: usize,
    pub(super) next: Option<String>,
    pub(super) version: Option<u64>,
    pub(super) exact: bool,
    /// Only metadata is requested.
    pub(super) metadata_only: bool,
}

/// A list, or one page of it.
#[derive(Debug)]
pub(super) struct List {
    pub(super) version: u64,
    pub(super) items: Vec<Arc<Object>>,
    next: Option<String>,
    remaining: Option<usize>,
}

impl Store {
    /// The version that a read is answered from. A read of "any" version may be this old.
    pub(super) fn version_for(
        &self,
        asked: Option<u64>,
        exact: bool,
        staleness: u64,
    ) -> Result<u64, Refusal> {
        let current = self.version();
        match asked {
            Some(0) => Ok(current.saturating_sub(staleness).max(self.oldest())),
            Some(version) if version > current => Err(Refusal::too_large(version, current)),
            Some(version) if exact => self.known(version),
            _ => Ok(current),
        }
    }

    fn known(&self, version: u64) -> Result<u64, Refusal> {
        if version < self.oldest() {
            return Err(Refusal::expired(
                "The resourceVersion for the provided list is too old.",
            ));
        }
        Ok(version)
    }

    pub(super) fn page(
        &self,
        kind: &Kind,
        namespace: &str,
        asked: &Asked,
        staleness: u64,
    ) -> Result<List, Refusal> {
        let (version, after) = match &asked.next {
            None => (
                self.version_for(asked.version, asked.exact, staleness)?,
                None,
            ),
            Some(token) => {
                let (version, after) = continued(kind, token)?;
                (self.continuable(version, &after)?, Some(after))
            }
        };
        let mut items: Vec<(Key, Arc<Object>)> = self
            .list(kind, namespace, version)
            .into_iter()
            .filter(|(key, object)| {
                after.as_ref().is_none_or(|after| key > after)
                    && asked.selector.takes(&object.value)
            })
            .collect();
        let remaining = items.len().saturating_sub(asked.limit);
        let mut next = None;
        if asked.limit > 0 && remaining > 0 {
            items.truncate(asked.limit);
            next = items
                .last()
                .map(|(key, _)| format!("{version}/{}/{}", key.namespace, key.name));
        }
        Ok(List {
            version,
            items: items.into_iter().map(|(_, object)| object).collect(),
            remaining: (next.is_some() && asked.selector.is_empty()).then_some(remaining),
            next,
        })
    }

    fn continuable(&self, version: Option<u64>, after: &Key) -> Result<u64, Refusal> {
        let current = self.version();
        match version {
            None => Ok(current),
            Some(version) if (self.oldest()..=current).contains(&version) => Ok(version),
            Some(_) => {
                let message = "The provided continue parameter is too old to display a consistent list result. You can \
                               start a new list without the continue parameter, or use the continue token in this \
                               response to retrieve the remainder of the results. Continuing with the provided \
                               token results in an inconsistent list - objects that were created, modified, or \
                               deleted between the time the first chunk was returned and now may show up in the \
                               list.";
                let next = format!("{NEWEST}/{}/{}", after.namespace, after.name);
                Err(Refusal::expired(message).with_continue(next))
            }
        }
    }
}

/// A continue token with this text in place of a version means the newest version.
const NEWEST: &str = "newest";

/// Where a list continues, and at which version. None: at the newest.
fn continued(kind: &Kind, token: &str) -> Result<(Option<u64>, Key), Refusal> {
    let invalid = || Refusal::bad_request("continue key is not valid");
    let mut parts = token.splitn(3, '/');
    let (Some(version), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(invalid());
    };
    let version = match version {
        NEWEST => None,
        version => Some(version.parse().map_err(|_| invalid())?),
    };
    Ok((version, Key::new(kind, namespace, name)))
}

impl List {
    fn metadata(&self) -> Value {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let Some(next) = &self.next {
            metadata["continue"] = json!(next);
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        metadata
    }

    /// The list in the format of the API.
    pub(super) fn text(&self, kind: &Kind, metadata_only: bool) -> String {
        let (name, version) = if metadata_only {
            ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned())
        } else {
            (kind.name, kind.api_version())
        };
        let mut metadata = self.metadata();
        if kind.schema.is_some() && self.next.is_none() && !metadata_only {
            metadata["continue"] = json!("");
        }
        let mut text = format!(
            "{{\"kind\":\"{name}List\",\"apiVersion\":\"{version}\",\"metadata\":{metadata},\"items\":["
        );
        for (number, item) in self.items.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = if metadata_only {
                write!(text, "{comma}{}", partial(&item.value))
            } else {
                write!(text, "{comma}{}", item.item(kind))
            };
        }
        text.push_str("]}");
        if metadata_only && self.items.is_empty() {
            // In Go an empty list is null.
            return text.replace("\"items\":[]", "\"items\":null");
        }
        text
    }

    /// A short form for the history: the objects with their versions.
    pub(super) fn summary(&self) -> Value {
        let items = self.items.iter().map(|item| {
            let meta = |field: &str| item.value["metadata"][field].as_str().unwrap_or_default();
            format!(
                "{}/{}@{}",
                meta("namespace"),
                meta("name"),
                meta("resourceVersion")
            )
        });
        json!({"metadata": self.metadata(), "items": items.collect::<Vec<_>>()})
    }
}

/// The metadata of an object, as a `PartialObjectMetadata`.
pub(super) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
