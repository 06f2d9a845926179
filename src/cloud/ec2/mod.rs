//! EC2, by its SDK.

mod answer;
pub mod classify;
mod client;
mod failure;
mod instances;
mod interfaces;
mod subnets;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use mooring_plan::cloud::{Instance, Interface, Reassign, Subnet};
use mooring_plan::names::{InstanceId, InstanceType, InterfaceId, SubnetId};

use super::{Cloud, CloudError};

pub use client::{ATTEMPT_TIMEOUT, Ec2, OPERATION_TIMEOUT};

impl Cloud for Ec2 {
    async fn assign(
        &self,
        interface: &InterfaceId,
        addresses: &[Ipv4Addr],
        reassign: Reassign,
    ) -> Result<(), CloudError> {
        interfaces::assign(self, interface, addresses, reassign).await
    }

    async fn unassign(
        &self,
        interface: &InterfaceId,
        addresses: &[Ipv4Addr],
    ) -> Result<(), CloudError> {
        interfaces::unassign(self, interface, addresses).await
    }

    async fn interfaces(&self, subnet: &SubnetId) -> Result<Vec<Interface>, CloudError> {
        interfaces::of_subnet(self, subnet).await
    }

    async fn subnets(&self, ids: &[SubnetId]) -> Result<Vec<Subnet>, CloudError> {
        subnets::by_id(self, ids).await
    }

    async fn instances(&self, ids: &[InstanceId]) -> Result<Vec<Instance>, CloudError> {
        instances::by_id(self, ids).await
    }

    async fn address_limits(
        &self,
        types: &[InstanceType],
    ) -> Result<BTreeMap<InstanceType, u32>, CloudError> {
        instances::address_limits(self, types).await
    }
}
