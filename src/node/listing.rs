//! Parses what nft lists of the table.

use serde_json::Value;

use super::settings::TABLE;
use super::table::{Hook, Set, Table, sorted};

/// The output of `nft -j list` cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The output is not JSON.
    #[error("what nft lists of the table {TABLE} is not JSON")]
    Json(#[from] serde_json::Error),
    /// A field is missing.
    #[error("what nft lists of the table {TABLE} has no \"{field}\" in {object}")]
    Missing {
        /// The name of the field.
        field: &'static str,
        /// The object in the form that nft lists.
        object: Value,
    },
}

fn text(object: &Value, field: &'static str) -> Result<String, ListingError> {
    object
        .get(field)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| missing(object, field))
}

fn missing(object: &Value, field: &'static str) -> ListingError {
    ListingError::Missing {
        field,
        object: object.clone(),
    }
}

impl Table {
    /// Parses the output of `nft -j list table ip mooring`.
    ///
    /// # Errors
    /// The text is not such an output.
    pub fn parse(listing: &str) -> Result<Self, ListingError> {
        let listing: Value = serde_json::from_str(listing)?;
        let objects = listing
            .get("nftables")
            .and_then(Value::as_array)
            .ok_or_else(|| missing(&listing, "nftables"))?;
        let mut table = Self::default();
        for (kind, object) in objects.iter().filter_map(Value::as_object).flatten() {
            table.read(kind, object)?;
        }
        Ok(table)
    }

    fn read(&mut self, kind: &str, object: &Value) -> Result<(), ListingError> {
        match kind {
            "metainfo" => {}
            // A table that another program has made `dormant` handles no packet.
            "table" => {
                if object.get("flags").is_some() {
                    self.unknown.push(object.clone());
                }
            }
            "chain" => {
                let hook = match object.get("hook") {
                    None => None,
                    Some(_) => Some(Hook {
                        kind: text(object, "type")?,
                        hook: text(object, "hook")?,
                        priority: object
                            .get("prio")
                            .and_then(Value::as_i64)
                            .ok_or_else(|| missing(object, "prio"))?,
                        policy: text(object, "policy")?,
                    }),
                };
                self.chains.entry(text(object, "name")?).or_default().hook = hook;
            }
            "set" | "map" => {
                let list = |field| match object.get(field) {
                    Some(Value::Array(list)) => list.clone(),
                    Some(one) => vec![one.clone()],
                    None => Vec::new(),
                };
                let set = Set {
                    key: object
                        .get("type")
                        .cloned()
                        .ok_or_else(|| missing(object, "type"))?,
                    value: object.get("map").cloned(),
                    flags: list("flags"),
                    elements: sorted(list("elem")),
                };
                self.sets.insert(text(object, "name")?, set);
            }
            "rule" => {
                let mut rule = object
                    .get("expr")
                    .cloned()
                    .ok_or_else(|| missing(object, "expr"))?;
                normalise(&mut rule);
                self.chains
                    .entry(text(object, "chain")?)
                    .or_default()
                    .rules
                    .push(rule);
            }
            _ => self.unknown.push(object.clone()),
        }
        Ok(())
    }
}

/// Removes from the `&` mask the bits that `|` sets: nft 1.0.6 prints `mark & 0xfff0ffff | 0x10000` as
/// `mark & 0xfff1ffff | 0x10000`, which has the same result.
fn normalise(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(normalise),
        Value::Object(fields) => {
            if let Some([and, or]) = fields
                .get_mut("|")
                .and_then(Value::as_array_mut)
                .map(Vec::as_mut_slice)
                && let Some(set) = or.as_u64()
                && let Some(kept) = and.pointer_mut("/&/1")
                && let Some(bits) = kept.as_u64()
            {
                *kept = Value::from(bits & !set);
            }
            fields.values_mut().for_each(normalise);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_rule_is_named() {
        assert!(matches!(Table::parse("no"), Err(ListingError::Json(_))));
        assert!(Table::parse(r#"{"nftables":[{"rule":{"chain":"leave"}}]}"#).is_err());
        let foreign = Table::parse(r#"{"nftables":[{"counter":{"name":"c"}}]}"#).unwrap();
        assert_eq!(foreign.unknown.len(), 1);
    }

    #[test]
    fn a_table_that_handles_no_packet_is_not_the_desired_one() {
        let listing = |flags: &str| {
            let text = format!(r#"{{"nftables":[{{"table":{{"name":"mooring"{flags}}}}}]}}"#);
            Table::parse(&text).unwrap()
        };
        assert_eq!(listing(""), Table::default());
        for flags in [r#","flags":"dormant""#, r#","flags":["dormant"]"#] {
            assert_ne!(listing(flags), Table::default(), "{flags}");
        }
    }
}
