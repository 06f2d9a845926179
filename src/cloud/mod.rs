//! The cloud that addresses are attached in.

pub mod ec2;

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::future::Future;
use std::net::Ipv4Addr;

use mooring_plan::cloud::{Instance, Interface, Reassign, Subnet};
use mooring_plan::names::{InstanceId, InstanceType, InterfaceId, SubnetId};
use mooring_plan::outcome::{Action, Outcome};

/// The calls that the controller makes. Each is one request, or for a read as many as there are pages;
/// none waits for a token: that is the caller's decision.
pub trait Cloud: Send + Sync + 'static {
    /// Attaches all of `addresses` to one interface, or none of them. Attaching one that is there
    /// already succeeds (EC2 API reference, `AssignPrivateIpAddresses`). Without addresses no call is
    /// made.
    fn assign(
        &self,
        interface: &InterfaceId,
        addresses: &[Ipv4Addr],
        reassign: Reassign,
    ) -> impl Future<Output = Result<(), CloudError>> + Send;

    /// Takes all of `addresses` off one interface, or none of them. Without addresses no call is made.
    ///
    /// # Errors
    /// [`Outcome::Done`] if an address was not there.
    fn unassign(
        &self,
        interface: &InterfaceId,
        addresses: &[Ipv4Addr],
    ) -> impl Future<Output = Result<(), CloudError>> + Send;

    /// Every interface of a subnet, all pages of it: a page that fails fails the whole.
    fn interfaces(
        &self,
        subnet: &SubnetId,
    ) -> impl Future<Output = Result<Vec<Interface>, CloudError>> + Send;

    /// These subnets, each of them: one that the answer lacks is an error.
    fn subnets(
        &self,
        ids: &[SubnetId],
    ) -> impl Future<Output = Result<Vec<Subnet>, CloudError>> + Send;

    /// These instances, each of them: one that the answer lacks is an error, not a termination.
    fn instances(
        &self,
        ids: &[InstanceId],
    ) -> impl Future<Output = Result<Vec<Instance>, CloudError>> + Send;

    /// How many IPv4 addresses, the primary one among them, each interface of these types can have.
    fn address_limits(
        &self,
        types: &[InstanceType],
    ) -> impl Future<Output = Result<BTreeMap<InstanceType, u32>, CloudError>> + Send;
}

/// A call that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("ec2:{action} for {object}: {code}: {message}")]
pub struct CloudError {
    /// The call; with `ec2:` before it also the permission that it needs.
    pub action: Action,
    /// What it was made for, in words.
    pub object: String,
    /// What the answer means.
    pub outcome: Outcome,
    /// EC2's code, or one of [`ec2::classify::code`].
    pub code: String,
    /// EC2's sentence, or ours.
    pub message: String,
    /// What lies beneath, where there is more to say.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}
