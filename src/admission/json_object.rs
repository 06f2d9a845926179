//! Parses selected fields of JSON objects. Other fields are skipped: they need not match a schema, and take no
//! memory.
//!
//! `RawValue` of `serde_json` is not used. Its feature `raw_value` changes how every `Value` is read: a map with
//! the key `$serde_json::private::RawValue` is replaced by the text under that key, or is an error. Users choose keys
//! of maps in a pod (`volumeAttributes`), and the watches of the controller read pods into `Value`s.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The fields of an object that are parsed.
pub(super) trait Fields {
    /// Called at the start of an object. It must discard the values of an earlier object of the same name.
    fn begin(&mut self);

    /// Reads the value of this field, or skips it. A field can occur more than once: the last value counts.
    fn field<'de, A: MapAccess<'de>>(&mut self, name: &str, value: &mut A) -> Result<(), A::Error>;
}

/// Reads a text that is one object.
///
/// # Errors
/// The text is not JSON or not an object, or a parsed field has the wrong type.
pub(super) fn read<F: Fields>(text: &str, fields: &mut F) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Nested(fields).deserialize(&mut reader)?;
    reader.end()
}

/// Skips a value.
pub(super) fn skip<'de, A: MapAccess<'de>>(value: &mut A) -> Result<(), A::Error> {
    value.next_value::<IgnoredAny>().map(drop)
}

/// A serde seed that parses an object into its fields.
pub(super) struct Nested<'a, F>(pub &'a mut F);

impl<'de, F: Fields> DeserializeSeed<'de> for Nested<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, F: Fields> Visitor<'de> for Nested<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.0.begin();
        while let Some(name) = fields.next_key::<String>()? {
            self.0.field(&name, &mut fields)?;
        }
        Ok(())
    }
}

/// A string. A value of another type is read as an empty one.
#[derive(Debug, Default)]
pub(super) struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(AnyText)
    }
}

struct AnyText;

impl<'de> Visitor<'de> for AnyText {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Text, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Text, A::Error> {
        IgnoredAny.visit_map(fields).map(|_| Text::default())
    }
}

/// A struct that is parsed only from a JSON object. A derived `Deserialize` also accepts a list of the field values,
/// to which a patch that was made for an object cannot be applied.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct ObjectOnly<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectOnly<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }

        reader.deserialize_map(ObjectOnly(PhantomData)).map(Self)
    }
}
