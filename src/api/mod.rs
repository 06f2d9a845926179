//! The kinds, names and reasons that a user sees.
//!
//! What the API server holds is text; the one reader from it to the types that decisions are made
//! of lies here too, so that two rooms never read one field differently.

pub mod conditions;
pub mod crds;
pub mod ip;
pub mod ipblock;
pub mod ipnode;
mod length;
pub mod names;
pub mod node_spec;
pub mod probe;
pub mod read;
pub mod reasons;
pub mod watching;

pub use crds::crds;
pub use ip::{Ip, IpSpec, IpStatus, Previous, Refused, Workload};
pub use ipblock::{IpBlock, IpBlockSpec, IpBlockStatus, NodeSelector};
pub use ipnode::{IpNode, IpNodeSpec, IpNodeStatus, ProbedAddress, ProgrammedAddress};
pub use node_spec::{NodeSpec, NodeSpecError, Route, check_routes, internal_by_default};
pub use probe::{Probe, ProbeError};
pub use reasons::Reason;
