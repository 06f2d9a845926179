//! `MaxResults` and `NextToken`.

use std::fmt::Display;

use super::{Form, Refusal};

/// The maximum number of items in an answer (EC2 API reference, `DescribeNetworkInterfaces`).
const MOST: usize = 1000;
/// The minimum of `MaxResults`.
const FEWEST: usize = 5;

/// The requested part of a long answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The maximum number of items. None: all in one answer.
    limit: Option<usize>,
    /// The last id of the previous page. The tokens of EC2 are opaque. Here they are the id.
    after: Option<String>,
}

impl Page {
    /// Reads the two parameters. `ids` is the parameter that cannot be combined with them.
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

    /// Reduces all matching items, which are in the order of their ids, to the page. Returns the token of the next
    /// page.
    ///
    /// # Errors
    /// More than a page for a request that is neither paged nor filtered: EC2 refuses such calls in large accounts (the
    /// code is not confirmed on a real account).
    pub fn cut<T, N: Display>(
        &self,
        found: &mut Vec<T>,
        name: impl Fn(&T) -> N,
        narrowed: bool,
    ) -> Result<Option<String>, Refusal> {
        if let Some(after) = &self.after {
            // All ids of a kind have the same length, so texts sort in the order of the numbers.
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
