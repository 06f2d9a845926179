//! Applies a structural schema to an object: removes unknown fields and sets defaults.

use serde_json::{Map, Value};

/// Removes unknown fields of an object of a custom kind, and sets defaults.
pub(super) fn tidy(object: &mut Value, schema: &Value) {
    let Value::Object(fields) = object else {
        return;
    };
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    fields.retain(|name, _| {
        properties.contains_key(name) || matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
    });
    for name in ["spec", "status"] {
        if let (Some(value), Some(schema)) = (fields.get_mut(name), properties.get(name)) {
            value_of(value, schema);
        }
    }
}

fn value_of(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(properties) = schema["properties"].as_object() {
                if schema["x-kubernetes-preserve-unknown-fields"] != true {
                    fields.retain(|name, _| properties.contains_key(name));
                }
                object_of(fields, properties);
            } else if schema["additionalProperties"].is_object() {
                for value in fields.values_mut() {
                    value_of(value, &schema["additionalProperties"]);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                value_of(item, &schema["items"]);
            }
        }
        _ => {}
    }
}

fn object_of(fields: &mut Map<String, Value>, properties: &Map<String, Value>) {
    fields.retain(|name, value| !value.is_null() || properties[name]["nullable"] == true);
    for (name, schema) in properties {
        if !schema["default"].is_null() && !fields.contains_key(name) {
            fields.insert(name.clone(), schema["default"].clone());
        }
        if let Some(value) = fields.get_mut(name) {
            value_of(value, schema);
        }
    }
}
