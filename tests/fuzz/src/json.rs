//! Sequences of JSON documents, and access to the values in them.

use serde_json::{Deserializer, Value};

/// Parses the documents; None if one of them is not valid.
pub fn documents(data: &[u8]) -> Option<Vec<Value>> {
    let documents = Deserializer::from_slice(data).into_iter::<Value>();
    documents.collect::<Result<_, _>>().ok()
}

/// The number of values in this value, including itself.
pub fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// The `nth` value in this value, in the order of the text. The first is the value itself.
pub fn nth(value: &mut Value, nth: usize) -> Option<&mut Value> {
    let Some(mut left) = nth.checked_sub(1) else {
        return Some(value);
    };
    let children: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(fields) => Box::new(fields.values_mut()),
        _ => return None,
    };
    for child in children {
        let here = size(child);
        if left < here {
            return self::nth(child, left);
        }
        left -= here;
    }
    None
}
