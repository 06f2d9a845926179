//! Why an address is not programmed.

/// How far the programming of an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The kernel does what is asked.
    Programmed,
    /// Something that others have to do is missing.
    Waiting,
    /// It cannot be programmed as things are.
    Failed,
    /// The network of the node cannot do it for this pod: its packets do not pass netfilter.
    Unsupported,
}

/// What the report of an address that is not programmed says.
pub(super) struct Obstacle {
    pub(super) state: State,
    pub(super) message: String,
}

/// Something that others have to do is missing.
pub(super) fn waiting(message: String) -> Obstacle {
    let state = State::Waiting;
    Obstacle { state, message }
}

/// It cannot be programmed as things are.
pub(super) fn failed(message: String) -> Obstacle {
    let state = State::Failed;
    Obstacle { state, message }
}

/// The packets of the pod do not pass netfilter.
pub(super) fn bypassed(pod: &str) -> Obstacle {
    Obstacle {
        state: State::Unsupported,
        message: format!(
            "Cilium's BPF host routing bypasses netfilter, so the address cannot be programmed for the pod {pod}: use \
             hostNetwork, or set bpf.hostLegacyRouting=true for Cilium and --cilium-legacy-routing for mooring node"
        ),
    }
}
