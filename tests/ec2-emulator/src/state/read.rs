//! The Describe calls.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Ec2Error;
use super::instance_type::InstanceType;
use super::objects::InstanceState;
use super::request::{Read, Seen};
use super::{Ec2, no_instance, no_interface, no_subnet};

impl Ec2 {
    /// Reads without a change.
    ///
    /// # Errors
    /// `Invalid...ID.NotFound` for a requested id that does not exist.
    pub fn read(&self, read: &Read) -> Result<Seen, Ec2Error> {
        match read {
            Read::NetworkInterfaces { ids, filters } => {
                let mut found = select(&self.interfaces, ids).map_err(no_interface)?;
                found.retain(|interface| filters.iter().all(|f| f.accepts(self, interface)));
                Ok(Seen::NetworkInterfaces(found))
            }
            Read::Instances { ids, filters } => {
                let mut found = select(&self.instances, ids).map_err(no_instance)?;
                found.retain(|instance| filters.iter().all(|f| f.accepts(self, instance)));
                Ok(Seen::Instances(found))
            }
            Read::InstanceStatus { ids, all } => {
                let mut found = select(&self.instances, ids).map_err(no_instance)?;
                found.retain(|instance| *all || instance.state == InstanceState::Running);
                Ok(Seen::InstanceStatus(found))
            }
            Read::Subnets { ids, filters } => {
                let mut found = select(&self.subnets, ids).map_err(no_subnet)?;
                found.retain(|subnet| filters.iter().all(|f| f.accepts(subnet)));
                Ok(Seen::Subnets(found))
            }
            Read::InstanceTypes { kinds } => {
                let asked = |kind: &&InstanceType| kinds.is_empty() || kinds.contains(kind);
                let found = InstanceType::ALL.iter().filter(asked).copied().collect();
                Ok(Seen::InstanceTypes(found))
            }
        }
    }
}

/// All objects, or those with these ids. The error is an id that does not exist.
fn select<K: Ord + Copy, V: Clone>(all: &BTreeMap<K, V>, ids: &BTreeSet<K>) -> Result<Vec<V>, K> {
    if ids.is_empty() {
        return Ok(all.values().cloned().collect());
    }
    ids.iter()
        .map(|id| all.get(id).cloned().ok_or(*id))
        .collect()
}
