//! Reads answers of EC2. A field that EC2 always sends must exist: an empty answer is an error and never means that an
//! object does not exist.

use std::collections::BTreeSet;
use std::fmt::Display;

use mooring_plan::outcome::Action;

use super::failure::unreadable;
use crate::cloud::CloudError;

/// The answer to one call, for error messages.
#[derive(Clone, Copy)]
pub(super) struct Answer<'a> {
    pub action: Action,
    pub object: &'a str,
}

impl Answer<'_> {
    /// A part that every answer must have.
    pub fn has<T>(self, part: Option<T>, what: &str) -> Result<T, CloudError> {
        part.ok_or_else(|| {
            unreadable(
                self.action,
                self.object,
                format!("the answer has no {what}"),
            )
        })
    }

    /// The object that was requested, which the answer must contain.
    pub fn shows<T>(self, found: Option<T>) -> Result<T, CloudError> {
        found.ok_or_else(|| {
            unreadable(
                self.action,
                self.object,
                format!("the answer does not show {}", self.object),
            )
        })
    }

    /// Parses a part that every answer must have.
    pub fn reads<T, E>(self, text: &str, what: &str) -> Result<T, CloudError>
    where
        T: std::str::FromStr<Err = E>,
        E: Display,
    {
        text.parse().map_err(|error| {
            unreadable(
                self.action,
                self.object,
                format!("the answer's {what} {text:?} cannot be read: {error}"),
            )
        })
    }

    /// Checks that `got` contains all of `asked`.
    pub fn covers<'b, T>(
        self,
        asked: &'b [T],
        got: impl IntoIterator<Item = &'b T>,
    ) -> Result<(), CloudError>
    where
        T: Ord + Display + 'b,
    {
        let got: BTreeSet<&T> = got.into_iter().collect();
        match asked.iter().find(|asked| !got.contains(asked)) {
            None => Ok(()),
            Some(missing) => Err(unreadable(
                self.action,
                self.object,
                format!("the answer does not show {missing}"),
            )),
        }
    }

    /// The token of the next page. It must differ from the token of the page before.
    pub fn next_page(
        self,
        sent: Option<&str>,
        token: Option<String>,
    ) -> Result<Option<String>, CloudError> {
        match token.filter(|token| !token.is_empty()) {
            Some(token) if Some(token.as_str()) == sent => Err(unreadable(
                self.action,
                self.object,
                "the answer's next page is the page itself",
            )),
            token => Ok(token),
        }
    }
}

/// The names that a call was made for, comma-separated.
pub(super) fn list<T: Display>(names: &[T]) -> String {
    names
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
