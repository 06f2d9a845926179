//! Calls to EC2: the mutating calls of IPs, and the inventory of a subnet.
//! Rules: R4.30, R5.28.

use mooring_plan::address::Address;
use mooring_plan::engine::Completion;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::outcome::{Action, Outcome};
use mooring_plan::step::CallGroup;

use super::Effects;
use crate::cloud::CloudError;
use crate::controller::error::Failure;

impl Effects {
    /// Sends one request for the addresses of these IPs.
    ///
    /// # Errors
    /// The failure, which applies to all of them.
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

    /// Makes one complete list of the interfaces of a subnet.
    pub(in crate::controller) async fn inventory(&self, subnet: SubnetId) -> Completion {
        let answer = self.cloud.interfaces(&subnet).await;
        self.described(Action::DescribeInterfaces, answer, |answer| match answer {
            Ok(interfaces) => vec![Fact::InventoryDone(subnet, interfaces)],
            Err(outcome) => vec![Fact::InventoryFailed(subnet, outcome)],
        })
    }

    /// The answer to a question to EC2, as facts. A failure is logged and counted here.
    pub(super) fn described<T>(
        &self,
        action: Action,
        answer: Result<T, CloudError>,
        facts: impl FnOnce(Result<T, Outcome>) -> Vec<Fact>,
    ) -> Completion {
        let answer = answer.map_err(|error| {
            let outcome = error.outcome;
            self.failed(&Failure::Cloud(error));
            outcome
        });
        let outcome = answer.as_ref().err().copied();
        Completion {
            facts: facts(answer),
            called: vec![(action, outcome)],
        }
    }

    fn call_error(&self, ips: &[(IpName, Address)], error: CloudError) -> CallError {
        let answer = error.call_error();
        let failure = Failure::Cloud(error);
        match ips {
            [(ip, _)] => self.failed_for(ip, &failure),
            // The failure names their addresses.
            _ => self.failed(&failure),
        }
        answer
    }
}
