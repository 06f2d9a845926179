//! The words that conditions, Events and readiness gates share.

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident;)+) => {
        /// A condition's, Event's or gate's reason: one word, the same everywhere.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)+
        }

        impl Reason {
            /// Every reason there is.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The reason of that word.
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
    /// A pod has claimed the address; EC2 is being told.
    Claimed;
    /// The address is on its holder's interface.
    Attached;
    /// It moved to another pod or place.
    Moved;
    /// It was taken off.
    Detached;
    /// No pod holds it.
    Released;
    /// Reserved, and no pod asks for it.
    Unclaimed;
    /// Another has the address.
    AddressInUse;
    /// No address of the block is free.
    BlockExhausted;
    /// The pod's node cannot carry the address.
    NoEligibleNode;
    /// The node's interface has no room.
    NodeFull;
    /// EC2 refused or did not answer.
    AttachFailed;
    /// EC2 asked us to slow down.
    Throttled;
    /// The address was not where it should be, and is being put back.
    DriftRepaired;
    /// The annotation `take-from` named an interface without the address, and was removed.
    TakeFromUnused;
    /// An IAM action is not permitted.
    AccessDenied;
    /// Another pod holds it.
    ClaimedByOther;
    /// Pods of several Deployments wait for each other's addresses.
    Deadlock;
    /// The pod was admitted for an earlier IP of that name.
    StalePod;
    /// A rollout's new pod waits for the address.
    HandoverWaiting;
    /// An address of the block is on an interface and no IP explains it.
    OrphanedAddress;
    /// The interface is one that the VPC CNI may hand to pods.
    SharedWithCNI;
    /// Too many pods vanished at the same time.
    BrakeEngaged;
    /// `status.previous` is full of places that may still have an address.
    PreviousFull;
    /// It is being taken off.
    Detaching;
    /// It went to another pod.
    MovedTo;
    /// The IP is being deleted.
    IPDeleted;
    /// The IP's address is being changed.
    AddressChanging;
    /// It was found elsewhere.
    Drifted;
    /// The node part has programmed the address.
    Programmed;
    /// The node part has not programmed the address.
    NotProgrammed;
    /// The network of the node does not let the node part pass the packets of this pod.
    UnsupportedDataPath;
    /// The target of the probe sees the address.
    Verified;
    /// The target of the probe sees another address, or does not answer.
    NotVerified;
    /// Fast failover has taken the node out of service.
    OutOfService;
    /// Fast failover has put the node back into service.
    BackInService;
    /// The pod does not ask for an address any more.
    NotRequested;
    /// The block does not lie in its subnet.
    SubnetMismatch;
    /// EC2 knows no such subnet.
    SubnetNotFound;
    /// The IP's block does not exist.
    BlockMissing;
    /// More than one block could be meant.
    AmbiguousBlock;
    /// The spec cannot be read.
    Invalid;
    /// The subnet has not been looked at yet.
    Waiting;
    /// All is well.
    Ready;
    /// Nothing of the kind was seen.
    NoneSeen;
}
