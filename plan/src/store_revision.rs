//! Detects that the API server was restored from a backup: the revision of its store (etcd) decreases only then.
//! Rules: R1.25, R7.5.
//!
//! The Leases can be in another store than a kind, so a list with a lower version than the revision of the `Lease` is
//! no restoration.

use alloc::vec::Vec;

use crate::names::ResourceVersion;

/// The revision of the store, from the answers about one object or list: in the controller the `Lease`, in the node
/// part its `IPNode` (R1.25). No other request is needed between relists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision {
    /// The highest revision since the last restoration.
    highest: ResourceVersion,
    /// The number of restorations that were detected.
    restorations: u32,
}

impl Revision {
    /// Applies the version in the answer to a quorum read or to a write. Of two requests in sequence the second answer
    /// has at least the revision of the first, unless the store was restored (R1.25).
    #[must_use]
    pub fn answered(self, version: ResourceVersion) -> Self {
        let restored = version < self.highest;
        Self {
            highest: version,
            restorations: self.restorations.saturating_add(u32::from(restored)),
        }
    }

    /// The number of restorations that the answers showed.
    #[must_use]
    pub const fn restorations(self) -> u32 {
        self.restorations
    }

    /// Applies a version from a watch. A watch can be late, so a lower version means nothing (R1.25).
    #[must_use]
    pub fn watched(self, version: ResourceVersion) -> Self {
        Self {
            highest: self.highest.max(version),
            ..self
        }
    }
}

/// What is known of the versions of one kind, to notice each restoration once (R1.25).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KnownVersions {
    /// The highest version of the lists since the last restoration. The engine was told it last.
    listed: ResourceVersion,
    /// The highest revision that the `Lease` showed since then. With one store the lists are rarely that new.
    revision: ResourceVersion,
    /// The number of restorations that the `Lease` had shown last.
    restorations: u32,
}

/// What follows from a version that the API server showed.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// The versions to tell the engine, in this order ([`Fact::Listed`](crate::facts::Fact::Listed)).
    pub listed: Vec<ResourceVersion>,
    /// True if the store was restored: the watch must be restarted, because it receives nothing until the version from
    /// which it continues is reached again, which may take hours (R7.5). It is restarted after the engine was told the
    /// versions, because they decide how the new list is read.
    pub restored: bool,
}

impl KnownVersions {
    /// Applies the version of a list. The lists are asked for in sequence, so a lower version is a restoration (R1.25).
    pub fn list_shows(&mut self, version: ResourceVersion) -> Change {
        if version < self.listed {
            // The `Lease` shows this restoration too, if it is in the same store.
            self.revision = self.revision.min(version);
            return self.restored(self.listed, version);
        }
        self.listed = version;
        Change {
            listed: Vec::from([version]),
            restored: false,
        }
    }

    /// Applies the revision that the `Lease` shows. A list after a restoration may have shown the decrease already
    /// (R1.25).
    pub fn lease_shows(&mut self, now: Revision) -> Change {
        let version = now.highest;
        let restored = now.restorations != self.restorations;
        self.restorations = now.restorations;
        let highest = self.listed.max(self.revision);
        if restored && version < highest {
            self.revision = version;
            // With two stores the next list can have a lower version than the `Lease`. That is no second restoration.
            return self.restored(highest, self.listed.min(version));
        }
        self.revision = self.revision.max(version);
        Change::default()
    }

    fn restored(&mut self, from: ResourceVersion, to: ResourceVersion) -> Change {
        self.listed = to;
        Change {
            // The engine compares with the version that it was told last, which may be old.
            listed: Vec::from([from, to]),
            restored: true,
        }
    }
}
