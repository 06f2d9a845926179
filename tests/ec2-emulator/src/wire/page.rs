//! `MaxResults` and `NextToken`.

use std::fmt::Display;

use super::{Form, Refusal};

/// As many as an answer may hold (EC2 API reference, `DescribeNetworkInterfaces`).
const MOST: usize = 1000;
/// The fewest that can be asked for.
const FEWEST: usize = 5;

/// Which part of a long answer is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// How many at most; none: all, in one answer.
    limit: Option<usize>,
    /// The last name of the page before. EC2's tokens are opaque; ours happen to be readable.
    after: Option<String>,
}

impl Page {
    /// Reads the two parameters; `ids` is the parameter that they cannot stand beside.
    pub fn read(form: &Form, ids: &str) -> Result<Self, Refusal> {
        let limit: Option<usize> = form.value("MaxResults")?;
        let after = form.text("NextToken").map(ToOwned::to_owned);
        if let Some(limit) = limit {
            if limit < FEWEST {
                return Err(Refusal::new(
                    "InvalidParameterValue",
                    format!(
                        "Value ( {limit} ) for parameter maxResults is invalid. Expecting a value greater than {FEWEST}."
                    ),
                ));
            }
            if form.mentions(ids) {
                return Err(Refusal::new(
                    "InvalidParameterCombination",
                    format!("The parameter {ids} cannot be used with the parameter MaxResults"),
                ));
            }
        }
        Ok(Self { limit, after })
    }

    /// The maximum number of items on a page, for all requests.
    #[must_use]
    pub fn at_most(mut self, count: usize) -> Self {
        self.limit = Some(self.limit.map_or(count, |limit| limit.min(count)));
        self
    }

    /// Cuts the page out of all that matched, which is in the order of the names; the rest's token.
    ///
    /// # Errors
    /// More than a page, from a request that is neither paged nor filtered: EC2 fails such calls in
    /// large accounts (its code is not confirmed on a real account).
    pub fn cut<T, N: Display>(
        &self,
        found: &mut Vec<T>,
        name: impl Fn(&T) -> N,
        narrowed: bool,
    ) -> Result<Option<String>, Refusal> {
        if let Some(after) = &self.after {
            // All names of a kind have one length, so that text sorts as the numbers do.
            found.retain(|item| name(item).to_string() > *after);
        }
        if self.limit.is_none() && !narrowed && found.len() > MOST {
            return Err(Refusal::new(
                "OperationNotPermitted",
                "The result is too large: use pagination or filters.",
            ));
        }
        let limit = self.limit.unwrap_or(usize::MAX).min(MOST);
        if found.len() <= limit {
            return Ok(None);
        }
        found.truncate(limit);
        Ok(found.last().map(|item| name(item).to_string()))
    }
}
