//! JSON documents one after the other, and walks through them.

use serde_json::{Deserializer, Value};

/// The documents; None where one of them is none.
pub fn documents(data: &[u8]) -> Option<Vec<Value>> {
    let documents = Deserializer::from_slice(data).into_iter::<Value>();
    documents.collect::<Result<_, _>>().ok()
}

/// How many values there are in this one, itself among them.
pub fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// The `nth` value of this one, in the order of their beginnings; itself is the first.
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
