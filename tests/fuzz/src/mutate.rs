//! A small mutator that knows JSON, so that most of its inputs can be parsed.

use serde_json::{Map, Value, json};

use crate::chance::Chance;
use crate::corpus::{Input, inputs};
use crate::json::{documents, nth, size};

/// The maximum size of an input. Larger ones only take longer.
const LONGEST: usize = 64 * 1024;

/// Words that have a meaning for one of the readers.
const WORDS: [&str; 40] = [
    "ip.wgtwo.com/ip",
    "ip.wgtwo.com/ip-uid",
    "ip.wgtwo.com/handover",
    "ip.wgtwo.com/attached",
    "ip.wgtwo.com/detach",
    "ip.wgtwo.com/take-from",
    "partner-a",
    "partner-b",
    "office",
    "edge",
    "containers-ready",
    "running",
    "203.0.113.7",
    "203.0.113.10",
    "203.0.113.007",
    "203.0.113.0/24",
    "2001:db8::7",
    "0.0.0.0/0",
    "shop/web-0",
    "shop",
    "node-1",
    "i-1",
    "eni-1",
    "eni-2",
    "aws:///eu-west-1a/i-1",
    "30s",
    "99999999h",
    "True",
    "False",
    "CREATE",
    "UPDATE",
    "DELETE",
    "InvalidParameterValue",
    "RequestLimitExceeded",
    "UnauthorizedOperation",
    "Client.InternalError",
    "are not assigned to interface",
    "assigned, but move is not allowed.",
    "18446744073709551615",
    "node.kubernetes.io/not-ready",
];

/// Makes new inputs from the corpus.
#[derive(Clone, Debug)]
pub struct Mutator {
    kept: Vec<Input>,
}

impl Mutator {
    /// A mutator for the corpus of a body.
    #[must_use]
    pub fn of(body: &str) -> Self {
        Self { kept: inputs(body) }
    }

    /// A new input.
    pub fn make(&self, chance: &mut Chance) -> Vec<u8> {
        let kept = chance.pick(&self.kept);
        let bytes = kept.map(|input| input.bytes.clone()).unwrap_or_default();
        self.change(bytes, chance)
    }

    /// Changes the input in a few places.
    pub fn change(&self, mut bytes: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
        for _ in 0..=chance.below(4) {
            bytes = match documents(&bytes).filter(|documents| !documents.is_empty()) {
                Some(documents) if !chance.once_in(8) => self.change_json(documents, chance),
                _ => self.change_bytes(bytes, chance),
            };
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change_json(&self, mut documents: Vec<Value>, chance: &mut Chance) -> Vec<u8> {
        match chance.below(12) {
            0 if documents.len() > 1 => {
                documents.remove(chance.below(documents.len()));
            }
            1 => documents.extend(self.foreign_document(chance)),
            _ => {
                let index = chance.below(documents.len());
                let document = &mut documents[index];
                let other = if chance.once_in(2) {
                    document.clone()
                } else {
                    self.foreign_document(chance).unwrap_or_default()
                };
                let place = chance.below(size(document));
                if let Some(value) = nth(document, place) {
                    change_value(value, other, chance);
                }
            }
        }
        let mut bytes = Vec::new();
        for document in documents {
            bytes.extend(serde_json::to_vec(&document).unwrap());
            bytes.push(b'\n');
        }
        bytes
    }

    fn foreign_document(&self, chance: &mut Chance) -> Option<Value> {
        let mut documents = documents(&chance.pick(&self.kept)?.bytes)?;
        (!documents.is_empty()).then(|| documents.swap_remove(chance.below(documents.len())))
    }

    fn change_bytes(&self, mut bytes: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
        let from = chance.below(bytes.len() + 1);
        let to = from + chance.below((bytes.len() - from).min(16) + 1);
        match chance.below(6) {
            0 => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte ^= 1 << chance.below(8);
                }
            }
            1 => {
                bytes.drain(from..to);
            }
            2 => {
                let again = bytes[from..to].to_vec();
                bytes.splice(to..to, again);
            }
            3 => {
                let word = chance.pick(&WORDS).copied().unwrap_or_default();
                bytes.splice(from..to, word.bytes());
            }
            4 => {
                let byte = u8::try_from(chance.below(256)).unwrap_or_default();
                bytes.insert(from, byte);
            }
            _ => {
                let other = chance.pick(&self.kept).map(|input| input.bytes.as_slice());
                let other = other.unwrap_or_default();
                let begin = chance.below(other.len() + 1);
                bytes.truncate(from);
                bytes.extend_from_slice(&other[begin..]);
            }
        }
        bytes
    }
}

/// Changes a value: to an unexpected value, to a part of `other`, or by one removed or added item.
fn change_value(value: &mut Value, mut other: Value, chance: &mut Chance) {
    match (chance.below(6), &mut *value) {
        (0, Value::Object(fields)) => lose_or_rename(fields, chance),
        (1, Value::Object(fields)) => {
            let place = chance.below(size(&other));
            let key = chance.pick(&WORDS).copied().unwrap_or_default();
            if let Some(part) = nth(&mut other, place) {
                fields.insert(key.to_owned(), part.take());
            }
        }
        (0, Value::Array(items)) if !items.is_empty() => {
            items.remove(chance.below(items.len()));
        }
        (1, Value::Array(items)) => {
            let again = chance.pick(items).cloned().unwrap_or_default();
            items.insert(chance.below(items.len() + 1), again);
        }
        (0..=2, Value::String(text)) => *text = change_text(text, chance),
        (0..=3, _) => {
            let place = chance.below(size(&other));
            if let Some(part) = nth(&mut other, place) {
                *value = part.take();
            }
        }
        _ => *value = odd(chance),
    }
}

fn lose_or_rename(fields: &mut Map<String, Value>, chance: &mut Chance) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let Some(gone) = chance.pick(&keys).and_then(|key| fields.remove(key)) else {
        return;
    };
    if chance.once_in(3)
        && let Some(key) = chance.pick(&keys)
    {
        fields.insert(change_text(key, chance), gone);
    }
}

fn change_text(text: &str, chance: &mut Chance) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let at = chance.below(letters.len() + 1);
    match chance.below(5) {
        0 => return chance.pick(&WORDS).copied().unwrap_or_default().to_owned(),
        1 => letters.truncate(at),
        2 => letters.insert(
            at,
            *chance
                .pick(&['0', '/', '-', '.', ' ', 'é', '\n', '9'])
                .unwrap_or(&'x'),
        ),
        3 if at < letters.len() => {
            letters.remove(at);
        }
        _ => {
            let again = letters.clone();
            letters.splice(at..at, again);
        }
    }
    letters.into_iter().collect()
}

/// An unexpected value.
fn odd(chance: &mut Chance) -> Value {
    match chance.below(12) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!([]),
        3 => json!(""),
        4 => json!(chance.once_in(2)),
        5 => json!(i64::MIN),
        6 => json!(u64::MAX),
        7 => json!(-1.5e300),
        8 => json!(chance.below(400)),
        9 => json!("x".repeat(300)),
        10 => json!([null]),
        _ => json!(chance.pick(&WORDS).copied().unwrap_or_default()),
    }
}
