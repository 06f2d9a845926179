//! Parses an object and keeps only the fields that are used.
//!
//! A whole pod or Node as a tree of values takes several times the memory of its text, and most of it is
//! `managedFields`, containers and images. Every value of a kept field is accepted here: one object that does not match
//! its schema must not make its whole list unreadable.

use std::borrow::Cow;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use kube::Resource;
use kube::api::{ApiResource, DynamicObject, ObjectMeta, TypeMeta};
use kube::core::DynamicResourceScope;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::reduced_metadata::ReducedMetadata;

/// The part of a value that is kept. For a list, the same part of each entry is kept.
#[derive(Clone, Copy, Debug)]
pub enum FieldMask {
    /// The whole value.
    All,
    /// These fields, each with the part to keep.
    Fields(&'static [(&'static str, FieldMask)]),
}

/// The fields that are kept of the objects of a kind.
pub trait Fields: 'static {
    /// The fields to keep in addition to the metadata.
    const MASK: &'static [(&'static str, FieldMask)];
}

/// Keeps all of spec and status.
#[derive(Clone, Copy, Debug)]
pub enum Whole {}

impl Fields for Whole {
    const MASK: &'static [(&'static str, FieldMask)] =
        &[("spec", FieldMask::All), ("status", FieldMask::All)];
}

/// An object with these fields only.
pub struct Reduced<F>(DynamicObject, PhantomData<fn() -> F>);

impl<F> From<Reduced<F>> for DynamicObject {
    fn from(object: Reduced<F>) -> Self {
        object.0
    }
}

impl<F> AsRef<DynamicObject> for Reduced<F> {
    fn as_ref(&self) -> &DynamicObject {
        &self.0
    }
}

impl<F> Clone for Reduced<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<F> fmt::Debug for Reduced<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<F> Resource for Reduced<F> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::kind(resource)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::group(resource)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::version(resource)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::plural(resource)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

impl<'de, F: Fields> serde::Deserialize<'de> for Reduced<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = deserializer.deserialize_map(ObjectVisitor(F::MASK))?;
        Ok(Self(object, PhantomData))
    }
}

struct ObjectVisitor(&'static [(&'static str, FieldMask)]);

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = DynamicObject;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DynamicObject, A::Error> {
        let (mut api_version, mut kind) = (None, None);
        let mut metadata = None;
        let mut data = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => api_version = map.next_value()?,
                "kind" => kind = map.next_value()?,
                "metadata" => metadata = map.next_value::<Option<ReducedMetadata>>()?,
                _ => keep(self.0, key, &mut map, &mut data)?,
            }
        }
        let types = api_version.zip(kind);
        Ok(DynamicObject {
            types: types.map(|(api_version, kind)| TypeMeta { api_version, kind }),
            metadata: metadata.map(ObjectMeta::from).unwrap_or_default(),
            data: Value::Object(data),
        })
    }
}

/// Parses the value of this key into `kept`, or skips it.
fn keep<'de, A: MapAccess<'de>>(
    fields: &[(&str, FieldMask)],
    key: String,
    map: &mut A,
    kept: &mut Map<String, Value>,
) -> Result<(), A::Error> {
    match fields.iter().find(|(name, _)| *name == key) {
        Some((_, of)) => drop(kept.insert(key, map.next_value_seed(*of)?)),
        None => drop(map.next_value::<IgnoredAny>()?),
    }
    Ok(())
}

impl<'de> DeserializeSeed<'de> for FieldMask {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Self::All => serde::Deserialize::deserialize(deserializer),
            Self::Fields(fields) => deserializer.deserialize_any(FieldsVisitor(fields)),
        }
    }
}

struct FieldsVisitor(&'static [(&'static str, FieldMask)]);

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            keep(self.0, key, &mut map, &mut kept)?;
        }
        Ok(Value::Object(kept))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(entry) = list.next_element_seed(FieldMask::Fields(self.0))? {
            kept.push(entry);
        }
        Ok(Value::Array(kept))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
}
