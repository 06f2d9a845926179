//! Which addresses are probed: a pure function of the desired state.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::node::desired::{Desired, Endpoint, Report};
use crate::node::destinations::Destinations;
use crate::node::settings::NodeSettings;
use crate::node::slots;
use crate::node::state::KernelState;

/// One claim of an address, and the target of its probe. Each outcome belongs to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedClaim {
    /// The address.
    pub address: Ipv4Addr,
    /// The UID of the pod.
    pub pod: String,
    /// The id of the claim.
    pub claim: String,
    /// Host and port of the target.
    pub target: String,
}

impl ProbedClaim {
    /// Whether the report is about this claim.
    #[must_use]
    pub fn is_of(&self, report: &Report) -> bool {
        (self.address, &self.pod, &self.claim) == (report.address, &report.pod, &report.claim)
    }
}

/// One probe: its claim, its interval, and how the connection is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The claim and the target.
    pub probed: ProbedClaim,
    /// Time between two attempts.
    pub interval: Duration,
    /// The packet mark of the ENI, if a pod has the address. None: a program in the namespace of the node has it.
    pub mark: Option<u32>,
    /// The name of the ENI.
    pub link: String,
    /// The destinations to which packets leave with the static address.
    pub destinations: Destinations,
}

/// The probes, by the name of the IP.
pub type Orders = BTreeMap<String, Order>;

/// The addresses that can be probed after the kernel has reached the desired state.
#[must_use]
pub fn orders(desired: &Desired, kernel: &KernelState, settings: &NodeSettings) -> Orders {
    let slots = slots::slots(desired, kernel, settings);
    let order = |(address, to): (&Ipv4Addr, &crate::node::desired::Address)| {
        let probe = to.probe.as_ref()?;
        let report = desired.reports.get(&to.ip)?;
        let slot = slots.get(&to.mac)?;
        let order = Order {
            probed: ProbedClaim {
                address: *address,
                pod: report.pod.clone(),
                claim: report.claim.clone(),
                target: probe.target.clone(),
            },
            interval: probe.interval,
            mark: match to.endpoint {
                Endpoint::Host => None,
                Endpoint::Pod(_) => Some(settings.mark(*slot)),
            },
            link: kernel.link_by_mac(to.mac).ok()?.name.clone(),
            destinations: to.destinations.clone(),
        };
        Some((to.ip.clone(), order))
    };
    desired.addresses.iter().filter_map(order).collect()
}
