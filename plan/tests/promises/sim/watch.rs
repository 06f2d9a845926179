//! Watch events: the difference between the state that a controller was shown and the present state.

use std::collections::BTreeSet;

use mooring_plan::facts::{Fact, Kind};
use mooring_plan::names::ResourceVersion;
use mooring_plan::store_revision::KnownVersions;
use mooring_world::kube::Kube;

/// The state that the watches of one controller have shown.
#[derive(Clone, Default)]
pub struct Shown {
    objects: Kube,
    listed: bool,
    known: KnownVersions,
    /// The version that everything was shown up to.
    upto: Option<ResourceVersion>,
}

impl Shown {
    /// The events that bring a controller up to date. With `relist`, there is no event for deletions in between.
    pub fn events(&mut self, kube: &Kube, kinds: &BTreeSet<Kind>, relist: bool) -> Vec<Fact> {
        if self.upto == Some(kube.newest()) && !relist {
            return Vec::new();
        }
        let events = kube.events_since(&self.objects, relist).into_iter();
        let events = events.filter(|(kind, _)| kinds.contains(kind));
        let mut events: Vec<Fact> = events.map(|(_, event)| event).collect();
        for event in &events {
            self.objects.show(event);
        }
        self.upto = (kinds.len() == Kind::ALL.len()).then(|| kube.newest());
        if !self.listed || relist {
            self.listed = true;
            if self.known.list_shows(kube.newest()) {
                events.extend(Kind::ALL.map(Fact::Restored));
            }
            events.extend(Kind::ALL.map(Fact::Synced));
        }
        events
    }
}
