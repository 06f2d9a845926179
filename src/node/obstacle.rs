//! Why an address is not programmed.

use super::settings::NodeSettings;
use super::state::KernelState;

/// How far the programming of an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The kernel passes the packets of the address.
    Programmed,
    /// Another component has to act first, for example the CNI or the controller.
    Waiting,
    /// The address cannot be programmed until an object or the node is changed.
    Failed,
    /// The network of the node does not allow it for this pod: its packets do not pass netfilter, another program takes
    /// them, or the pod has no IPv4 address.
    Unsupported,
}

/// State and message of the report for an address that is not programmed.
pub(super) struct Obstacle {
    pub(super) state: State,
    pub(super) message: String,
}

/// Another component has to act first.
pub(super) fn waiting(message: String) -> Obstacle {
    let state = State::Waiting;
    Obstacle { state, message }
}

/// The address cannot be programmed until an object or the node is changed.
pub(super) fn failed(message: String) -> Obstacle {
    let state = State::Failed;
    Obstacle { state, message }
}

/// Each network interface with addresses needs a slot, and none is free.
pub(super) fn no_slot(slots: usize) -> Obstacle {
    failed(format!(
        "more than {slots} network interfaces carry addresses: give --mark-mask more bits"
    ))
}

/// A rule of another program takes the packets of the pod: of the AWS VPC CNI, or of Cilium in ENI mode.
pub(super) fn diverted(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "a rule (ip rule) of another program takes all packets of the pod {pod} before those of Mooring: if the pod \
             has a security group (AWS VPC CNI), set POD_SECURITY_GROUP_ENFORCING_MODE=standard for aws-node and \
             create the pod again, or use a pod without a SecurityGroupPolicy; with Cilium in ENI mode, set \
             --rule-priority=105 for mooring node"
        ),
    }
}

/// The pod cannot be reached with IPv4.
pub(super) fn only_ipv6(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "the pod {pod} has only IPv6 addresses, and static addresses are IPv4: use hostNetwork, or a cluster that \
             gives pods IPv4 addresses too (dual-stack)"
        ),
    }
}

/// The obstacle for a pod whose packets do not pass netfilter.
pub(super) type Bypass = fn(&str) -> Obstacle;

/// Whether the packets of all pods of the node bypass netfilter.
pub(super) fn bypass(kernel: &KernelState, settings: &NodeSettings) -> Option<Bypass> {
    if kernel.has_cilium() && !settings.cilium_legacy_routing() {
        return Some(bypassed);
    }
    kernel.has_calico_bpf().then_some(calico_bpf)
}

fn bypassed(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "Cilium's BPF host routing bypasses netfilter, so the address cannot be programmed for the pod {pod}: use \
             hostNetwork, or set bpf.hostLegacyRouting=true and endpointRoutes.enabled=true for Cilium, and \
             --cilium-legacy-routing and --mark-mask for mooring node"
        ),
    }
}

fn calico_bpf(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "Calico's BPF data plane bypasses netfilter, so the address cannot be programmed for the pod {pod}: use \
             hostNetwork, or another data plane of Calico (linuxDataplane: Iptables or Nftables)"
        ),
    }
}

/// Cilium routes all pods by one interface, so the node cannot say which pod has sent a packet.
pub(super) fn without_route(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "Cilium has no route to the address of the pod {pod} alone, so that its packets to the partners would be \
             dropped: set endpointRoutes.enabled=true for Cilium, or use hostNetwork"
        ),
    }
}
