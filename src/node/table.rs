//! The nftables table, in the form that nft lists: chains with rules, sets and maps with elements.
//!
//! Rules are stored in the JSON form that `nft -j list` prints, so that the desired table can be compared with the
//! present one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::settings::TABLE;

/// An nftables table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Chains by name.
    pub chains: BTreeMap<String, Chain>,
    /// Sets and maps by name.
    pub sets: BTreeMap<String, Set>,
    /// Objects of kinds that Mooring never creates, in the form that nft lists.
    pub unknown: Vec<Value>,
}

/// A chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The hook of a base chain. None: packets enter by a jump only.
    pub hook: Option<Hook>,
    /// Its rules. Each is the list of its statements.
    pub rules: Vec<Value>,
}

impl Chain {
    /// The fields of the chain in an nft command.
    #[must_use]
    pub fn fields(&self, name: &str) -> Value {
        match &self.hook {
            None => json!({ "name": name }),
            Some(hook) => json!({
                "name": name, "type": hook.kind, "hook": hook.hook, "prio": hook.priority,
                "policy": hook.policy,
            }),
        }
    }
}

/// The hook of a base chain. The policy is to accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// `filter`, `nat` or `route`.
    pub kind: String,
    /// The name of the hook.
    pub hook: String,
    /// The order among the chains of the hook.
    pub priority: i64,
    /// The verdict at the end of the chain.
    pub policy: String,
}

impl Hook {
    /// A hook with the policy `accept`.
    #[must_use]
    pub fn new(kind: &str, hook: &str, priority: i64) -> Self {
        Self {
            kind: kind.to_owned(),
            hook: hook.to_owned(),
            priority,
            policy: "accept".to_owned(),
        }
    }
}

/// A set or a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The type of its keys: one name, or a list of names.
    pub key: Value,
    /// The type of its values. None: it is a set, not a map.
    pub value: Option<Value>,
    /// Flags, such as `interval`.
    pub flags: Vec<Value>,
    /// Its elements, sorted.
    pub elements: Vec<Value>,
}

impl Set {
    /// A set or map with these elements.
    #[must_use]
    pub fn new(key: Value, value: Option<&str>, interval: bool, elements: Vec<Value>) -> Self {
        Self {
            key,
            value: value.map(Value::from),
            flags: interval
                .then(|| Value::from("interval"))
                .into_iter()
                .collect(),
            elements: sorted(elements),
        }
    }
}

impl Set {
    /// Its kind in an nft command: `set` or `map`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        if self.value.is_some() { "map" } else { "set" }
    }

    /// The fields of the set or map in an nft command.
    #[must_use]
    pub fn fields(&self, name: &str) -> Value {
        let mut fields = json!({ "name": name, "type": self.key });
        if let Some(value) = &self.value {
            put(&mut fields, "map", value.clone());
        }
        if !self.flags.is_empty() {
            put(&mut fields, "flags", Value::from(self.flags.clone()));
        }
        if !self.elements.is_empty() {
            put(&mut fields, "elem", Value::from(self.elements.clone()));
        }
        fields
    }
}

/// Elements in the order in which they are compared.
pub(super) fn sorted(mut elements: Vec<Value>) -> Vec<Value> {
    elements.sort_by_cached_key(Value::to_string);
    elements
}

impl Table {
    /// The elements of a map, as pairs of key and value. Empty if the map does not exist.
    pub fn pairs<'a>(
        &'a self,
        map: &str,
    ) -> impl Iterator<Item = (&'a Value, &'a Value)> + use<'a> {
        self.sets
            .get(map)
            .into_iter()
            .flat_map(|set| &set.elements)
            .filter_map(|element| match element.as_array()?.as_slice() {
                [key, value] => Some((key, value)),
                _ => None,
            })
    }

    /// One transaction that replaces any table of this name with this one. A packet can pass between the two tables,
    /// so it is used only where [`super::table_update`] is not possible.
    #[must_use]
    pub fn replace(&self) -> Value {
        let table = |verb| command(verb, "table", json!({}));
        let mut commands = vec![table("add"), table("delete"), table("add")];
        for (name, chain) in &self.chains {
            commands.push(command("add", "chain", chain.fields(name)));
        }
        for (name, set) in &self.sets {
            commands.push(command("add", set.kind(), set.fields(name)));
        }
        for (name, chain) in &self.chains {
            commands.extend(
                chain
                    .rules
                    .iter()
                    .map(|rule| command("add", "rule", json!({ "chain": name, "expr": rule }))),
            );
        }
        json!({ "nftables": commands })
    }

    /// One transaction that removes the table. It succeeds also if the table does not exist.
    #[must_use]
    pub fn remove() -> Value {
        let table = |verb| command(verb, "table", json!({}));
        json!({ "nftables": [table("add"), table("delete")] })
    }
}

fn put(fields: &mut Value, name: &str, value: Value) {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

/// An nft command for the table or for an object of it.
#[must_use]
pub fn command(verb: &str, kind: &str, mut fields: Value) -> Value {
    let owner = if kind == "table" { "name" } else { "table" };
    put(&mut fields, "family", Value::from("ip"));
    put(&mut fields, owner, Value::from(TABLE));
    let object = Map::from_iter([(kind.to_owned(), fields)]);
    Value::Object(Map::from_iter([(verb.to_owned(), Value::Object(object))]))
}
