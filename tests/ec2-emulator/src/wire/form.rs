//! A form of the Query protocol: lists and structures are written as numbered and dotted keys.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::state::id::{
    AttachmentId, IdError, InstanceId, NetworkInterfaceId, ResourceId, SubnetId, VpcId,
};
use crate::state::objects::Tags;

use super::Refusal;

/// The parameters of a call, or of one part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Form {
    fields: BTreeMap<String, String>,
    /// The prefix of the keys, so that an error names the whole parameter.
    prefix: String,
}

impl Form {
    /// Parses `application/x-www-form-urlencoded`. If a key occurs twice, the last one counts.
    #[must_use]
    pub fn parse(body: &[u8]) -> Self {
        Self {
            fields: form_urlencoded::parse(body).into_owned().collect(),
            prefix: String::new(),
        }
    }

    /// The value of a key. An empty value counts as left out.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a required key.
    pub fn required(&self, key: &str) -> Result<&str, Refusal> {
        self.text(key)
            .ok_or_else(|| Refusal::missing(&self.name(key)))
    }

    /// The parsed value of a key.
    pub fn value<T: FromStr>(&self, key: &str) -> Result<Option<T>, Refusal> {
        self.text(key)
            .map(|text| {
                text.parse()
                    .map_err(|_| Refusal::invalid(text, &self.name(key)))
            })
            .transpose()
    }

    /// The parsed value of a required key.
    pub fn required_value<T: FromStr>(&self, key: &str) -> Result<T, Refusal> {
        self.value(key)?
            .ok_or_else(|| Refusal::missing(&self.name(key)))
    }

    /// `true` or `false`; left out is `false`.
    pub fn flag(&self, key: &str) -> Result<bool, Refusal> {
        Ok(self.value(key)?.unwrap_or(false))
    }

    /// Is any key equal to this one, or does it begin with it?
    #[must_use]
    pub fn mentions(&self, key: &str) -> bool {
        let dotted = format!("{key}.");
        self.fields
            .keys()
            .any(|field| field == key || field.starts_with(&dotted))
    }

    /// Does any parameter have this value?
    #[must_use]
    pub fn has_value(&self, value: &str) -> bool {
        self.fields.values().any(|field| field == value)
    }

    /// `Key.1`, `Key.2` and so on, in the order of their numbers.
    pub fn list(&self, key: &str) -> Result<Vec<&str>, Refusal> {
        let dotted = format!("{key}.");
        let mut found = Vec::new();
        for (field, value) in &self.fields {
            let Some(rest) = field.strip_prefix(&dotted) else {
                continue;
            };
            // `Key.1.Name` belongs to a structure, which `parts` reads.
            if rest.contains('.') {
                continue;
            }
            found.push((self.number(rest, field)?, value.as_str()));
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, value)| value).collect())
    }

    /// A list of parsed values.
    pub fn values<T: FromStr + Ord>(&self, key: &str) -> Result<BTreeSet<T>, Refusal> {
        self.list(key)?
            .into_iter()
            .map(|text| {
                text.parse()
                    .map_err(|_| Refusal::invalid(text, &self.name(key)))
            })
            .collect()
    }

    /// The structures `Key.1.*`, `Key.2.*` and so on, in the order of their numbers.
    pub fn parts(&self, key: &str) -> Result<Vec<Self>, Refusal> {
        let dotted = format!("{key}.");
        let mut parts: BTreeMap<u32, Self> = BTreeMap::new();
        for (field, value) in &self.fields {
            let Some((number, rest)) = field
                .strip_prefix(&dotted)
                .and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let part = parts
                .entry(self.number(number, field)?)
                .or_insert_with(|| Self {
                    fields: BTreeMap::new(),
                    prefix: self.name(&format!("{dotted}{number}.")),
                });
            part.fields.insert(rest.to_owned(), value.clone());
        }
        Ok(parts.into_values().collect())
    }

    /// The id of a resource, which is required.
    pub fn id<T: ResourceName>(&self, key: &str) -> Result<T, Refusal> {
        parse_id(self.required(key)?)
    }

    /// The ids of resources, `Key.1`, `Key.2` and so on.
    pub fn ids<T: ResourceName + Ord>(&self, key: &str) -> Result<BTreeSet<T>, Refusal> {
        self.list(key)?.into_iter().map(parse_id).collect()
    }

    /// The tags that `TagSpecification.N` gives to one kind of resource.
    pub fn tags_for(&self, resource: &str) -> Result<Tags, Refusal> {
        let mut tags = Tags::new();
        for specification in self.parts("TagSpecification")? {
            if specification.required("ResourceType")? == resource {
                tags.extend(specification.tags()?);
            }
        }
        Ok(tags)
    }

    /// `Tag.N.Key` and `Tag.N.Value`.
    pub fn tags(&self) -> Result<Tags, Refusal> {
        self.parts("Tag")?
            .iter()
            .map(|tag| {
                let value = tag.text("Value").unwrap_or_default();
                Ok((tag.required("Key")?.to_owned(), value.to_owned()))
            })
            .collect()
    }

    fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn number(&self, text: &str, field: &str) -> Result<u32, Refusal> {
        text.parse().map_err(|_| {
            Refusal::new(
                "MalformedQueryString",
                format!("{} is not a numbered parameter.", self.name(field)),
            )
        })
    }
}

/// An id for which EC2 has specific error codes.
pub trait ResourceName: FromStr<Err = IdError> {
    /// The prefix of the codes.
    const CODE: &'static str;
    /// The name in the messages.
    const NOUN: &'static str;
}

macro_rules! resource_names {
    ($($name:ident $code:literal $noun:literal;)*) => {
        $(impl ResourceName for $name {
            const CODE: &'static str = $code;
            const NOUN: &'static str = $noun;
        })*
    };
}

resource_names! {
    VpcId "InvalidVpcID" "vpc";
    SubnetId "InvalidSubnetID" "subnet";
    InstanceId "InvalidInstanceID" "instance";
    NetworkInterfaceId "InvalidNetworkInterfaceID" "networkInterface";
    AttachmentId "InvalidAttachmentID" "attachment";
    ResourceId "InvalidID" "resource";
}

fn parse_id<T: ResourceName>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|error| match error {
        IdError::Malformed => Refusal::new(
            format!("{}.Malformed", T::CODE),
            format!("Invalid id: \"{text}\""),
        ),
        IdError::NeverIssued => Refusal::new(
            format!("{}.NotFound", T::CODE),
            format!("The {} ID '{text}' does not exist", T::NOUN),
        ),
    })
}
