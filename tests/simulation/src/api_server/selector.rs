//! Label and field selectors.

use serde_json::Value;

use super::kinds::{Kind, Trait};
use super::refusal::Refusal;

/// The selectors of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Label>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Label {
    key: String,
    wanted: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Present,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

#[derive(Clone, Debug)]
struct Field {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    pub(super) fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, Refusal> {
        let labels = terms(labels)
            .into_iter()
            .map(|term| label(&term))
            .collect::<Result<_, _>>()?;
        let fields = terms(fields)
            .into_iter()
            .map(|term| field(kind, &term))
            .collect::<Result<_, _>>()?;
        Ok(Self { labels, fields })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(super) fn takes(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let labelled = self.labels.iter().all(|label| {
            let value = labels.get(&label.key).and_then(Value::as_str);
            match &label.wanted {
                Wanted::Present => value.is_some(),
                Wanted::Absent => value.is_none(),
                Wanted::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
                Wanted::NotIn(values) => {
                    value.is_none_or(|value| values.iter().all(|v| v != value))
                }
            }
        });
        labelled
            && self.fields.iter().all(|field| {
                let place = field
                    .path
                    .split('.')
                    .try_fold(object, |object, name| object.get(name));
                let value = match place {
                    Some(Value::String(text)) => text.clone(),
                    None | Some(Value::Null) => String::new(),
                    Some(other) => other.to_string(),
                };
                (value == field.value) == field.equal
            })
    }
}

/// The terms of a selector: splits it at commas outside of brackets.
fn terms(text: &str) -> Vec<String> {
    let mut depth = 0;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(|term| term.trim().to_owned())
    .filter(|term| !term.is_empty())
    .collect()
}

fn label(term: &str) -> Result<Label, Refusal> {
    let one = |text: &str| vec![text.trim().to_owned()];
    let (key, wanted) = if let Some((key, values)) = term.split_once(" notin ") {
        (key, Wanted::NotIn(set(values)?))
    } else if let Some((key, values)) = term.split_once(" in ") {
        (key, Wanted::In(set(values)?))
    } else if let Some((key, value)) = term.split_once("!=") {
        (key, Wanted::NotIn(one(value)))
    } else if let Some((key, value)) = term.split_once('=') {
        (key, Wanted::In(one(value.trim_start_matches('='))))
    } else if let Some(key) = term.strip_prefix('!') {
        (key, Wanted::Absent)
    } else {
        (term, Wanted::Present)
    };
    Ok(Label {
        key: key.trim().to_owned(),
        wanted,
    })
}

fn set(values: &str) -> Result<Vec<String>, Refusal> {
    let inner = values
        .trim()
        .strip_prefix('(')
        .and_then(|values| values.strip_suffix(')'))
        .ok_or_else(|| Refusal::bad_request(format!("unable to parse requirement: {values}")))?;
    Ok(inner
        .split(',')
        .map(|value| value.trim().to_owned())
        .collect())
}

fn field(kind: &Kind, term: &str) -> Result<Field, Refusal> {
    let (path, value, equal) = if let Some((path, value)) = term.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = term.split_once('=') {
        (path, value.trim_start_matches('='), true)
    } else {
        return Err(Refusal::bad_request(format!(
            "invalid field selector: '{term}'"
        )));
    };
    let known = path == "metadata.name"
        || (kind.is(Trait::Namespaced) && path == "metadata.namespace")
        || kind.fields.contains(&path);
    if !known {
        let message = if kind.schema.is_some() || !kind.fields.is_empty() {
            format!("field label not supported: {path}")
        } else {
            format!(
                "\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )
        };
        return Err(Refusal::bad_request(message));
    }
    Ok(Field {
        path: path.to_owned(),
        value: value.to_owned(),
        equal,
    })
}
