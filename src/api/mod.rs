//! The kinds, names and reasons that users see.
//!
//! The only reader that converts objects of the API server to the types of `plan` is here too, so that all parts
//! of Mooring read each field in the same way.

pub mod conditions;
pub mod crds;
pub mod ip;
pub mod ipblock;
pub mod ipnode;
mod length;
pub mod list_version;
pub mod names;
pub mod node_spec;
pub mod probe;
pub mod read;
pub mod request;
pub mod watching;

pub use crds::crds;
pub use ip::{Ip, IpSpec, IpStatus, Previous, Refused, Workload};
pub use ipblock::{IpBlock, IpBlockSpec, IpBlockStatus, NodeSelector};
pub use ipnode::{IpNode, IpNodeSpec, IpNodeStatus, ProbedAddress, ProgrammedAddress};
pub use mooring_plan::reason::Reason;
pub use node_spec::{NodeSpec, NodeSpecError, Route, check_routes, internal_by_default};
pub use probe::{Probe, ProbeError};
