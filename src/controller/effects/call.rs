//! Calls to EC2: the mutating ones of IPs, and the inventory of a subnet.
//! Rules: R4.30, R5.28.

use mooring_plan::address::Address;
use mooring_plan::engine::Completion;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::outcome::Action;
use mooring_plan::step::CallGroup;

use super::Effects;
use crate::cloud::CloudError;
use crate::controller::error::Failure;

impl Effects {
    /// One request for the addresses of these IPs.
    ///
    /// # Errors
    /// How it failed, for all of them.
    pub(in crate::controller) async fn call(
        &self,
        group: &CallGroup,
        ips: &[(IpName, Address)],
    ) -> Result<(), CallError> {
        let addresses: Vec<Address> = ips.iter().map(|(_, address)| *address).collect();
        for (ip, address) in ips {
            match group {
                CallGroup::Assign(interface, reassign) => {
                    tracing::info!(%ip, %address, %interface, ?reassign, "assigning");
                }
                CallGroup::Unassign(interface) => {
                    tracing::info!(%ip, %address, %interface, "unassigning");
                }
            }
        }
        let result = match group {
            CallGroup::Assign(interface, reassign) => {
                self.cloud.assign(interface, &addresses, *reassign).await
            }
            CallGroup::Unassign(interface) => self.cloud.unassign(interface, &addresses).await,
        };
        result.map_err(|error| self.call_error(ips, error))
    }

    /// One complete list of a subnet's interfaces.
    pub(in crate::controller) async fn inventory(&self, subnet: SubnetId) -> Completion {
        let listed = self.cloud.interfaces(&subnet).await;
        let outcome = listed.as_ref().err().map(|error| error.outcome);
        let fact = match listed {
            Ok(interfaces) => Fact::InventoryDone(subnet, interfaces),
            Err(error) => {
                let outcome = error.outcome;
                self.failed(&Failure::Cloud(error));
                Fact::InventoryFailed(subnet, outcome)
            }
        };
        Completion {
            facts: vec![fact],
            called: vec![(Action::DescribeInterfaces, outcome)],
        }
    }

    fn call_error(&self, ips: &[(IpName, Address)], error: CloudError) -> CallError {
        let said = CallError {
            outcome: error.outcome,
            code: error.code.clone(),
            message: error.message.clone(),
        };
        let failure = Failure::Cloud(error);
        match ips {
            [(ip, _)] => self.failed_for(ip, &failure),
            // The failure names their addresses.
            _ => self.failed(&failure),
        }
        said
    }
}
