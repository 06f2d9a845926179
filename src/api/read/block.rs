//! Reads an `IPBlock`.

use kube::core::DynamicObject;
use mooring_plan::address::ParseError;
use mooring_plan::names::{BlockName, SubnetId};
use mooring_plan::objects::{Block, BlockSpec, DataPath};

use super::{
    Problem, Unreadable, annotation, has_finalizer, name, namespaces, part, read_block_status,
    spec, uid, version_of,
};
use crate::api::ipblock::FailoverAfterError;
use crate::api::{IpBlockSpec, IpBlockStatus, names};

/// Reads an `IPBlock`. If the spec cannot be read, the result contains a message. A status that cannot be read counts
/// as empty, because the whole status is derived and will be written again.
///
/// # Errors
/// The identity of the block cannot be read.
pub fn block(object: &DynamicObject) -> Result<Block, Unreadable> {
    read(object).map_err(|problem| problem.of("IPBlock", object))
}

fn read(object: &DynamicObject) -> Result<Block, Problem> {
    let meta = &object.metadata;
    let status = part::<IpBlockStatus>(object, "status")
        .ok()
        .flatten()
        .unwrap_or_default();
    Ok(Block {
        name: BlockName::from(name(meta)?),
        uid: uid(meta)?.to_owned(),
        version: version_of(meta)?,
        generation: meta.generation.unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta, names::BLOCK_FINALIZER),
        spec: spec(object, "give a CIDR and a subnet", block_spec),
        release_brake: annotation(meta, names::RELEASE_BRAKE_ANNOTATION).is_some(),
        status: read_block_status(&status),
    })
}

/// Why the spec of an `IPBlock` cannot be read. Each message says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableBlockSpec {
    /// The CIDR or an excluded entry cannot be read.
    #[error("spec.cidr or spec.excluded: {0}")]
    Range(ParseError),
    /// `failoverAfter` is not a duration.
    #[error(transparent)]
    FailoverAfter(FailoverAfterError),
    /// The id of the subnet is empty.
    #[error("spec.subnetID is empty: give the id of the subnet")]
    NoSubnet,
}

/// Reads the spec of an `IPBlock`.
///
/// # Errors
/// A field cannot be read.
pub fn block_spec(spec: &IpBlockSpec) -> Result<BlockSpec, UnreadableBlockSpec> {
    let range = spec.range().map_err(UnreadableBlockSpec::Range)?;
    let failover_after = spec
        .failover_after()
        .map_err(UnreadableBlockSpec::FailoverAfter)?;
    if spec.subnet_id.is_empty() {
        return Err(UnreadableBlockSpec::NoSubnet);
    }
    Ok(BlockSpec {
        range,
        subnet: SubnetId::from(spec.subnet_id.as_str()),
        node_selector: spec
            .node_selector
            .as_ref()
            .map(|selector| selector.match_labels.clone()),
        interface_tags: spec.interface_tags.clone(),
        allowed_namespaces: namespaces(spec.allowed_namespaces.as_deref()),
        fast_failover: spec.fast_failover,
        failover_after,
        data_path: match spec.node {
            Some(_) => DataPath::NodePart,
            None => DataPath::Foreign,
        },
        probe: spec.node.as_ref().is_some_and(|node| node.probe.is_some()),
    })
}
