//! The reasons of conditions, Events and readiness gates.

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        /// The reason of a condition, Event or gate: one word with the same meaning everywhere.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The reason as text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
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
    Reserved;
    /// A pod has claimed the address, and EC2 has not confirmed it yet.
    Claimed;
    /// The address is on the ENI of its holder.
    Attached;
    /// The address moved to another pod or place.
    Moved;
    /// The address was detached.
    Detached;
    /// No pod holds the address, or its reservation was released.
    Released;
    /// The address is reserved, and no pod asks for it.
    Unclaimed;
    /// Another owner has the address.
    AddressInUse;
    /// No address of the block is free.
    BlockExhausted;
    /// The node of the pod cannot carry the address.
    NoEligibleNode;
    /// The ENI of the node has no room.
    NodeFull;
    /// EC2 refused the call or did not answer.
    AttachFailed;
    /// EC2 throttles calls.
    Throttled;
    /// The address was not at its recorded place, and is being restored.
    DriftRepaired;
    /// The annotation `take-from` named an ENI without the address, and was removed.
    TakeFromUnused;
    /// An IAM action is not permitted, or EC2 accepts no credentials.
    AccessDenied;
    /// The API server refuses a write of Mooring.
    WriteRefused;
    /// Another pod holds the address.
    ClaimedByOther;
    /// Pods of several Deployments wait for the addresses of each other.
    Deadlock;
    /// The pod was admitted for an IP that does not exist any more; another of the same name can exist.
    StalePod;
    /// The new pod of a rollout waits for the address.
    HandoverWaiting;
    /// An address of the block is on an ENI, and no IP explains it.
    OrphanedAddress;
    /// The VPC CNI may use the same ENI for pods.
    SharedWithCNI;
    /// Too many pods disappeared at the same time.
    BrakeEngaged;
    /// `status.previous` is full of places that can still have an address.
    PreviousFull;
    /// The address is being detached.
    Detaching;
    /// The address went to another pod.
    MovedTo;
    /// The IP is being deleted.
    IPDeleted;
    /// The address of the IP is being changed.
    AddressChanging;
    /// The address was found at another place.
    Drifted;
    /// The node part has programmed the address.
    Programmed;
    /// The node part has not programmed the address.
    NotProgrammed;
    /// The network of the node does not let the node part pass the packets of this pod.
    UnsupportedDataPath;
    /// The node part of a node with attached addresses does not report any more.
    NodePartAway;
    /// The target of the probe sees the address.
    Verified;
    /// The target of the probe sees another address, or does not answer.
    NotVerified;
    /// Fast failover has set the taint `out-of-service` on the node.
    OutOfService;
    /// Fast failover has removed the taint `out-of-service` from the node.
    BackInService;
    /// The pod does not ask for an address any more.
    NotRequested;
    /// The block is not inside of its subnet.
    SubnetMismatch;
    /// The subnet does not exist in EC2.
    SubnetNotFound;
    /// The block of the IP does not exist.
    BlockMissing;
    /// More than one block matches.
    AmbiguousBlock;
    /// The spec cannot be read.
    Invalid;
    /// The subnet was not read yet.
    Waiting;
    /// The object is ready.
    Ready;
    /// No such problem was found.
    NoneSeen;
}
