//! Calls to EC2: the mutating ones of an IP, and the inventory of a subnet.

use mooring_plan::engine::Completion;
use mooring_plan::facts::{CallError, Fact};
use mooring_plan::names::{IpName, SubnetId};
use mooring_plan::outcome::Action;
use mooring_plan::step::Call;

use super::Effects;
use crate::cloud::CloudError;
use crate::controller::error::Failure;

impl Effects {
    pub(super) async fn call(&self, ip: &IpName, call: Call) -> Completion {
        let result = match &call {
            Call::Assign(interface, address, reassign) => {
                tracing::info!(%ip, %address, %interface, ?reassign, "assigning");
                self.cloud.assign(interface, &[*address], *reassign).await
            }
            Call::Unassign(interface, address) => {
                tracing::info!(%ip, %address, %interface, "unassigning");
                self.cloud.unassign(interface, &[*address]).await
            }
        };
        let called = vec![(
            call.action(),
            result.as_ref().err().map(|error| error.outcome),
        )];
        let result = result.map_err(|error| self.call_error(ip, error));
        Completion {
            facts: vec![Fact::Called(ip.clone(), call, result)],
            called,
        }
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

    fn call_error(&self, ip: &IpName, error: CloudError) -> CallError {
        let said = CallError {
            outcome: error.outcome,
            code: error.code.clone(),
            message: error.message.clone(),
        };
        self.failed_for(ip, &Failure::Cloud(error));
        said
    }
}
