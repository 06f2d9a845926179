//! The parts of Kubernetes objects that decisions need. `src/api/read` converts objects to these types. They are small
//! and ordered, so that a model checker can store many states.

mod block;
mod condition;
mod ip;
mod node;
mod node_report;
mod pod;
mod reservation;

pub use block::{Block, BlockSpec, BlockStatus, DataPath, Namespaces};
pub use condition::{BRAKE_ENGAGED, Condition, ORPHANED_ADDRESS, READY, SHARED_WITH_CNI};
pub use ip::{
    Claim, ClaimPhase, Conditions, DesiredIp, Ip, IpStatus, MAX_PREVIOUS, Previous, Refused,
    Target, UnreadableIp, UnreadableReport,
};
pub use node::Node;
pub use node_report::{AddressReport, AddressState, NodeReport, ProbeOutcome};
pub use pod::{Controller, Gate, Handover, Pod, ReplicaSet, Workload};
pub use reservation::Reservation;
