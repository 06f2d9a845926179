//! Parses the parts of a review around the object, in two passes. The first finds the id and the operation, and checks
//! that the text is JSON. The second reads only the fields that the operation needs.

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::de::{DeserializeOwned, MapAccess};

use super::json_object::{Fields, Nested, Text, read, skip};

/// The fields of a review that the first pass reads.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub uid: String,
    pub operation: String,
}

/// The fields of a review that the second pass reads.
#[derive(Debug)]
pub(super) struct Contents<T> {
    pub operation: String,
    pub namespace: String,
    pub user: Option<UserInfo>,
    pub object: Option<T>,
    pub old_object: Option<T>,
    needs_object: bool,
    needs_old_object: bool,
    /// The field that is being read.
    reading: &'static str,
}

/// A field of a review that cannot be read.
#[derive(Debug)]
pub(super) struct UnreadableField {
    pub field: &'static str,
    pub error: serde_json::Error,
}

impl Head {
    /// # Errors
    /// The text is not JSON, or has no request.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut review = Review(Self::default());
        read(text, &mut review)?;
        Ok(review.0)
    }
}

impl<T: DeserializeOwned> Contents<T> {
    /// # Errors
    /// A field that this operation needs is there and cannot be read.
    pub fn read(text: &str, operation: &str) -> Result<Self, UnreadableField> {
        let mut review = Review(Self {
            operation: String::new(),
            namespace: String::new(),
            user: None,
            object: None,
            old_object: None,
            needs_object: matches!(operation, "CREATE" | "UPDATE"),
            needs_old_object: matches!(operation, "UPDATE" | "DELETE"),
            reading: "uid",
        });
        let done = read(text, &mut review);
        let Review(contents) = review;
        match done {
            Ok(()) => Ok(contents),
            Err(error) => Err(UnreadableField {
                field: contents.reading,
                error,
            }),
        }
    }
}

/// A review. Of two requests in one review the last counts.
struct Review<F>(F);

impl<F: Fields> Fields for Review<F> {
    fn begin(&mut self) {}

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &str, value: &mut A) -> Result<(), A::Error> {
        match name {
            "request" => value.next_value_seed(Nested(&mut self.0)),
            _ => skip(value),
        }
    }
}

impl Fields for Head {
    fn begin(&mut self) {
        *self = Self::default();
    }

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &str, value: &mut A) -> Result<(), A::Error> {
        match name {
            "uid" => self.uid = value.next_value::<Text>()?.0,
            "operation" => self.operation = value.next_value::<Text>()?.0,
            _ => skip(value)?,
        }
        Ok(())
    }
}

impl<T: DeserializeOwned> Fields for Contents<T> {
    fn begin(&mut self) {
        self.operation.clear();
        self.namespace.clear();
        (self.user, self.object, self.old_object) = (None, None, None);
    }

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &str, value: &mut A) -> Result<(), A::Error> {
        match name {
            "operation" => {
                self.reading = "operation";
                self.operation = value.next_value()?;
            }
            "namespace" => {
                self.reading = "namespace";
                self.namespace = value.next_value()?;
            }
            "userInfo" => {
                self.reading = "userInfo";
                self.user = Some(value.next_value()?);
            }
            "object" if self.needs_object => {
                self.reading = "object";
                self.object = Some(value.next_value()?);
            }
            "oldObject" if self.needs_old_object => {
                self.reading = "oldObject";
                self.old_object = Some(value.next_value()?);
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Contents, Head, UnreadableField};

    fn contents(text: &str) -> Result<Contents<u8>, &'static str> {
        let head = Head::read(text).map_err(|_| "head")?;
        Contents::read(text, &head.operation).map_err(|UnreadableField { field, .. }| field)
    }

    fn object(text: &str) -> Result<Option<u8>, &'static str> {
        contents(text).map(|contents| contents.object)
    }

    #[test]
    fn a_field_is_read_whatever_the_others_are() {
        let text = r#"{"x": [{}], "request": {"c": "none", "operation": "CREATE", "object": 7, "oldObject": "none",
            "d": null}, "y": 1e999}"#;
        assert_eq!(object(text), Ok(Some(7)));
        assert_eq!(object(r#"{"request": {"operation": "CREATE"}}"#), Ok(None));
        assert_eq!(object(r#"{"object": 7}"#), Ok(None));
    }

    #[test]
    fn only_the_objects_that_the_operation_needs_are_read() {
        for (operation, read) in [
            ("CREATE", (Some(1), None)),
            ("UPDATE", (Some(1), Some(2))),
            ("DELETE", (None, Some(2))),
            ("CONNECT", (None, None)),
        ] {
            let text = format!(
                r#"{{"request": {{"object": 1, "oldObject": 2, "operation": "{operation}"}}}}"#
            );
            let contents = contents(&text).unwrap();
            assert_eq!((contents.object, contents.old_object), read, "{operation}");
        }
    }

    #[test]
    fn the_last_of_fields_with_one_name_counts_and_each_must_be_readable() {
        let create =
            |fields: &str| format!(r#"{{"request": {{"operation": "CREATE", {fields}}}}}"#);
        assert_eq!(object(&create(r#""object": 1, "object": 2"#)), Ok(Some(2)));
        let unread = object(&create(r#""object": "1", "object": 2"#));
        assert_eq!(unread, Err("object"));
        let twice = r#"{"request": {"operation": "CREATE", "object": 1}, "request": {"operation": "CREATE"}}"#;
        assert_eq!(object(twice), Ok(None));
        let uid = r#"{"request": {"uid": 1, "uid": [[2]], "uid": {"b": null}, "uid": true, "uid": -1.5,
            "uid": "seven"}}"#;
        assert_eq!(Head::read(uid).unwrap().uid, "seven");
        let last = r#"{"request": {"uid": "seven", "uid": 7}}"#;
        assert_eq!(Head::read(last).unwrap().uid, "");
    }

    #[test]
    fn a_review_without_a_request_is_distinguished_from_a_text_that_is_not_json() {
        for wrong in ["[[7]]", "7", r#"{"request": null}"#, r#"{"request": [7]}"#] {
            assert!(Head::read(wrong).unwrap_err().is_data(), "{wrong}");
        }
        for broken in [
            "",
            r#"{"request": {"uid": "7"}"#,
            r#"{"request": {"uid": "7"}} {"#,
            r#"{"request": {"uid": "7"}, x}"#,
        ] {
            assert!(!Head::read(broken).unwrap_err().is_data(), "{broken}");
        }
    }
}
