//! Reads the spec of an `IP`.

use mooring_plan::address::{Address, ParseError, parse_address};
use mooring_plan::cloud::Reassign;
use mooring_plan::names::BlockName;
use mooring_plan::objects::DesiredIp;

use super::namespaces;
use crate::api::IpSpec;

/// Why the spec of an `IP` cannot be read. Each message says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSpec {
    /// The address is not an IPv4 address in canonical form.
    #[error("spec.address: {0}")]
    Address(ParseError),
    /// Neither an address nor a block is given.
    #[error("the spec names neither an address nor a block: give one")]
    Nothing,
}

/// Reads the spec of an `IP`.
///
/// # Errors
/// The address cannot be parsed, or the spec names neither an address nor a block.
pub fn desired(spec: &IpSpec) -> Result<DesiredIp, UnreadableSpec> {
    let address = spec.address.as_deref().map(parse_address).transpose();
    let address = address.map_err(UnreadableSpec::Address)?;
    let block = spec
        .block
        .as_deref()
        .filter(|block| !block.is_empty())
        .map(BlockName::from);
    if address.is_none() && block.is_none() {
        return Err(UnreadableSpec::Nothing);
    }
    Ok(DesiredIp {
        address,
        block,
        reassign: if spec.reassign {
            Reassign::Allow
        } else {
            Reassign::Refuse
        },
        allowed_namespaces: namespaces(spec.allowed_namespaces.as_deref()),
    })
}

/// The address that a spec asks for. None: it asks for none, or the spec cannot be read.
#[must_use]
pub fn desired_address(spec: &IpSpec) -> Option<Address> {
    desired(spec).ok()?.address
}
