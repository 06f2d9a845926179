//! Detects that the API server was restored from a backup: the revision of its store (etcd) decreases only then.
//! Rules: R1.25, R7.5.
//!
//! The Leases can be in another store than a kind, so a list with a lower version than the revision of the `Lease` is
//! no restoration.

use crate::names::ResourceVersion;

/// The revision of the store, from the answers about one object: in the controller the `Lease`, in the node
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
    /// The highest version of the lists since the last restoration.
    listed: ResourceVersion,
    /// The highest revision that the `Lease` showed since then. With one store the lists are rarely that new.
    revision: ResourceVersion,
    /// The number of restorations that the `Lease` had shown last.
    restorations: u32,
}

impl KnownVersions {
    /// Applies the version of a list. True if the store was restored: the lists are asked for in sequence, so a lower
    /// version is a restoration (R1.25).
    #[must_use]
    pub fn list_shows(&mut self, version: ResourceVersion) -> bool {
        let restored = version < self.listed;
        if restored {
            // The `Lease` shows this restoration too, if it is in the same store.
            self.revision = self.revision.min(version);
        }
        self.listed = version;
        restored
    }

    /// Applies the revision that the `Lease` shows. True if the store was restored, and no list has shown it before
    /// (R1.25).
    #[must_use]
    pub fn lease_shows(&mut self, now: Revision) -> bool {
        let version = now.highest;
        let decreased = now.restorations != self.restorations;
        self.restorations = now.restorations;
        let restored = decreased && version < self.listed.max(self.revision);
        if restored {
            self.revision = version;
            // With two stores the next list can have a lower version than the `Lease`. That is no second restoration.
            self.listed = self.listed.min(version);
        } else {
            self.revision = self.revision.max(version);
        }
        restored
    }
}
