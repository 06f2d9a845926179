//! Parses an HTTP request.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::request::Parts;

use super::gate::{RequestInfo, Verb};
use super::kinds::{self, Kind};
use super::patch::{PatchKind, unknown_format};
use super::read::Asked;
use super::refusal::Refusal;
use super::selector::Selector;

/// A parsed request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) info: RequestInfo,
    query: BTreeMap<String, String>,
    accept: String,
    content_type: String,
}

impl Request {
    /// The resource. None: the path is not a path of objects.
    pub(super) fn parse(user: &str, parts: &Parts, body: &[u8]) -> Option<Self> {
        let query = parts.uri.query().unwrap_or_default();
        let values: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        let segments: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
        let (group, _version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", version, rest),
            ["apis", group, version, rest @ ..] => (*group, version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (resource, name, subresource) = match rest {
            [resource] => (*resource, "", ""),
            [resource, name] => (*resource, *name, ""),
            [resource, name, subresource] => (*resource, *name, *subresource),
            _ => return None,
        };
        let watch = values.get("watch").is_some_and(|watch| watch != "false");
        let verb = match (parts.method.as_str(), name.is_empty()) {
            ("GET", true) if watch => Verb::Watch,
            ("GET", true) => Verb::List,
            ("GET", false) => Verb::Get,
            ("POST", _) => Verb::Create,
            ("PUT", false) => Verb::Update,
            ("PATCH", false) => Verb::Patch,
            ("DELETE", false) => Verb::Delete,
            _ => return None,
        };
        let header = |name: http::HeaderName| {
            let value = parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Some(Self {
            info: RequestInfo {
                sequence: 0,
                user: user.to_owned(),
                verb,
                group: group.to_owned(),
                resource: resource.to_owned(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                subresource: subresource.to_owned(),
                query: query.to_owned(),
                body: Arc::new(serde_json::from_slice(body).unwrap_or_default()),
            },
            query: values,
            accept: header(http::header::ACCEPT),
            content_type: header(http::header::CONTENT_TYPE),
        })
    }

    /// A request that was not sent by HTTP.
    pub(super) fn direct(info: RequestInfo) -> Self {
        let query = form_urlencoded::parse(info.query.as_bytes())
            .into_owned()
            .collect();
        Self {
            info,
            query,
            accept: String::new(),
            content_type: String::new(),
        }
    }

    pub(super) fn with_content_type(mut self, content_type: &str) -> Self {
        content_type.clone_into(&mut self.content_type);
        self
    }

    pub(super) fn kind(&self) -> Result<&'static Kind, Refusal> {
        kinds::at(&self.info.group, &self.info.resource).ok_or_else(Refusal::nowhere)
    }

    pub(super) fn patch_kind(&self) -> Result<PatchKind, Refusal> {
        PatchKind::of(&self.content_type).ok_or_else(unknown_format)
    }

    fn text(&self, name: &str) -> &str {
        self.query.get(name).map(String::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| Refusal::bad_request(format!("{name}: Invalid value: \"{text}\"")))
    }

    pub(super) fn asked(&self, kind: &Kind) -> Result<Asked, Refusal> {
        let (labels, fields) = (self.text("labelSelector"), self.text("fieldSelector"));
        let limit = self.number("limit")?.unwrap_or_default();
        let next = self.text("continue");
        Ok(Asked {
            selector: Selector::parse(kind, labels, fields)?,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            next: (!next.is_empty()).then(|| next.to_owned()),
            version: self.number("resourceVersion")?,
            exact: self.text("resourceVersionMatch") == "Exact",
            metadata_only: self.metadata_only(),
        })
    }

    pub(super) fn metadata_only(&self) -> bool {
        self.accept.contains("as=PartialObjectMetadata")
    }

    pub(super) fn bookmarks(&self) -> bool {
        self.text("allowWatchBookmarks") == "true"
    }

    /// The time limit of a watch, in seconds.
    pub(super) fn timeout(&self) -> Result<Option<u64>, Refusal> {
        self.number("timeoutSeconds")
    }
}
