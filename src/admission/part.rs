//! One part of a JSON text. The rest is passed over, so that what cannot be read elsewhere is no hindrance, and nothing
//! is kept that nobody looks at.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// What stands at this path of fields; None where there is no such field. Of several of one name the last counts.
///
/// # Errors
/// The text is not JSON, something on the path is no object, or what stands at its end is no `T`.
pub(super) fn part<T: DeserializeOwned>(
    text: &str,
    path: &[&str],
) -> Result<Option<T>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let part = At(path, PhantomData).deserialize(&mut reader)?;
    reader.end()?;
    Ok(part)
}

struct At<'a, T>(&'a [&'a str], PhantomData<T>);

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for At<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            T::deserialize(reader).map(Some)
        } else {
            reader.deserialize_map(self)
        }
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for At<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (wanted, rest) = self.0.split_first().unzip();
        let mut found = None;
        while let Some(name) = fields.next_key::<String>()? {
            if wanted == Some(&name.as_str()) {
                found = fields.next_value_seed(At(rest.unwrap_or_default(), PhantomData))?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// What stands there if it is a text; anything else is passed over.
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
        f.write_str("anything")
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

/// What stands there as an object. A struct is read from a list as well, of its fields in their order, and a patch
/// that was made for an object does not fit one.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }

        reader.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Text, part};

    fn number(text: &str) -> Result<Option<u8>, serde_json::Error> {
        part(text, &["a", "b"])
    }

    #[test]
    fn one_part_is_read_whatever_the_others_are() {
        let text = r#"{"x": [{}], "a": {"c": "none", "b": 7, "d": null}, "y": 1e999}"#;
        assert_eq!(number(text).unwrap(), Some(7));
        assert_eq!(number(r#"{"a": {"b": 1, "b": 2}}"#).unwrap(), Some(2));
        for without in ["{}", r#"{"a": {}}"#, r#"{"b": 7}"#] {
            assert_eq!(number(without).unwrap(), None, "{without}");
        }
    }

    #[test]
    fn of_several_the_last_is_taken_whatever_the_others_are() {
        let text = r#"{"a": 1, "a": [[2]], "a": {"b": null}, "a": true, "a": -1.5, "a": "seven"}"#;
        assert_eq!(part::<Text>(text, &["a"]).unwrap().unwrap().0, "seven");
    }

    #[test]
    fn what_is_no_object_has_no_parts() {
        for wrong in [
            "[[7]]",
            "7",
            r#"{"a": null}"#,
            r#"{"a": [7]}"#,
            r#"{"a": {"b": "7"}}"#,
        ] {
            assert!(number(wrong).unwrap_err().is_data(), "{wrong}");
        }
        for broken in [
            "",
            r#"{"a": {"b": 7}"#,
            r#"{"a": {"b": 7}} {"#,
            r#"{"a": {"b": 7}, x}"#,
        ] {
            assert!(!number(broken).unwrap_err().is_data(), "{broken}");
        }
    }
}
