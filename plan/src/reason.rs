//! The reasons of conditions, Events and readiness gates.

use crate::words::words;

/// The `type` of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// Nothing is wrong.
    Normal,
    /// A person may have to act.
    Warning,
}

impl EventType {
    /// The type as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Each reason, with the type of its Events.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident: $event_type:ident;)+) => {
        words! {
            /// The reason of a condition, Event or gate: one word with the same meaning everywhere.
            pub enum Reason {
                $($(#[$doc])* $name,)+
            }
        }

        impl Reason {
            /// The `type` of an Event of this reason.
            #[must_use]
            pub const fn event_type(self) -> EventType {
                match self {
                    $(Self::$name => EventType::$event_type,)+
                }
            }

            /// The reason with this text; None if there is none.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == word)
            }
        }
    };
}

reasons! {
    /// The address is reserved.
    Reserved: Normal;
    /// A pod has claimed the address, and EC2 has not confirmed it yet.
    Claimed: Normal;
    /// The address is on the ENI of its holder.
    Attached: Normal;
    /// The address moved to another pod or place.
    Moved: Normal;
    /// The address was detached.
    Detached: Normal;
    /// No pod holds the address, or its reservation was released.
    Released: Normal;
    /// The address is reserved, and no pod asks for it.
    Unclaimed: Normal;
    /// Another owner has the address.
    AddressInUse: Warning;
    /// No address of the block is free.
    BlockExhausted: Warning;
    /// The node of the pod cannot carry the address.
    NoEligibleNode: Warning;
    /// The ENI of the node has no room.
    NodeFull: Warning;
    /// EC2 refused the call or did not answer.
    AttachFailed: Warning;
    /// EC2 throttles calls.
    Throttled: Warning;
    /// The address was not at its recorded place, and is being restored.
    DriftRepaired: Warning;
    /// The annotation `take-from` named an ENI without the address, and was removed.
    TakeFromUnused: Warning;
    /// An IAM action is not permitted, or EC2 accepts no credentials.
    AccessDenied: Warning;
    /// The API server refuses a write of Mooring.
    WriteRefused: Warning;
    /// Another pod holds the address.
    ClaimedByOther: Warning;
    /// Pods of several Deployments wait for the addresses of each other.
    Deadlock: Warning;
    /// The pod was admitted for an IP that does not exist any more; another of the same name can exist.
    StalePod: Warning;
    /// The new pod of a rollout waits for the address.
    HandoverWaiting: Warning;
    /// An address of the block is on an ENI, and no IP explains it.
    OrphanedAddress: Warning;
    /// The VPC CNI may use the same ENI for pods.
    SharedWithCNI: Warning;
    /// Too many pods disappeared at the same time.
    BrakeEngaged: Warning;
    /// `status.previous` is full of places that can still have an address.
    PreviousFull: Warning;
    /// The address is being detached.
    Detaching: Normal;
    /// The address went to another pod.
    MovedTo: Normal;
    /// The IP is being deleted.
    IPDeleted: Normal;
    /// The address of the IP is being changed.
    AddressChanging: Normal;
    /// The address was found at another place.
    Drifted: Warning;
    /// The node part has programmed the address.
    Programmed: Normal;
    /// The node part has not programmed the address.
    NotProgrammed: Warning;
    /// The network of the node does not let the node part pass the packets of this pod.
    UnsupportedDataPath: Warning;
    /// The node part of a node with attached addresses does not report any more.
    NodePartAway: Warning;
    /// The target of the probe sees the address.
    Verified: Normal;
    /// The target of the probe sees another address, or does not answer.
    NotVerified: Warning;
    /// Fast failover has set the taint `out-of-service` on the node.
    OutOfService: Warning;
    /// Fast failover has removed the taint `out-of-service` from the node.
    BackInService: Normal;
    /// The pod does not ask for an address any more.
    NotRequested: Normal;
    /// The block is not inside of its subnet.
    SubnetMismatch: Warning;
    /// The subnet does not exist in EC2.
    SubnetNotFound: Warning;
    /// The block of the IP does not exist.
    BlockMissing: Warning;
    /// More than one block matches.
    AmbiguousBlock: Warning;
    /// The spec cannot be read.
    Invalid: Warning;
    /// The subnet was not read yet, or the block is being deleted.
    Waiting: Normal;
    /// The object is ready.
    Ready: Normal;
    /// No such problem was found.
    NoneSeen: Normal;
}
