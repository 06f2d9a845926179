//! Applies `ReplicaSet`s.
//! Rule: R1.21.

use alloc::vec::Vec;

use super::super::{Affected, Facts};
use super::reads::KEEP_LONG;
use crate::facts::Answered;
use crate::names::ReplicaSetUid;
use crate::objects::ReplicaSet;
use crate::time::Instant;

impl Facts {
    /// Applies `ReplicaSet`s. They can affect other IPs than the one for which they were read.
    ///
    /// Labels select the list, so it can contain the sets of another Deployment. They are ignored.
    pub(super) fn see_replica_sets(
        &mut self,
        of: ReplicaSetUid,
        mut sets: Vec<ReplicaSet>,
        begun: Instant,
    ) -> Affected {
        let own = sets.iter().find(|set| set.uid == of);
        let deployment = own.and_then(|own| own.deployment.clone());
        sets.retain(|set| set.uid == of || deployment.is_some() && set.deployment == deployment);
        let siblings = deployment.iter().flat_map(|of| self.replica_sets_of.of(of));
        let before: Vec<ReplicaSetUid> = siblings.chain([&of]).cloned().collect();
        let of_sets = before
            .iter()
            .chain(sets.iter().map(|set| &set.uid))
            .flat_map(|set| self.index.pods_of_set(set));
        let labels = of_sets.filter_map(|uid| self.pods.get(uid)?.pod.label.clone());
        let affected = Affected::of(labels.collect());
        for uid in before {
            self.forget_replica_set(&uid);
        }
        self.reads.replica_sets.insert(of, begun);
        for set in sets {
            self.forget_replica_set(&set.uid);
            if let Some(deployment) = &set.deployment {
                self.replica_sets_of
                    .insert(deployment.clone(), set.uid.clone());
            }
            self.replica_sets
                .insert(set.uid.clone(), Answered::new(begun, set));
        }
        affected
    }

    fn forget_replica_set(&mut self, uid: &ReplicaSetUid) {
        let gone = self.replica_sets.remove(uid);
        if let Some(deployment) = gone.and_then(|read| read.value.deployment) {
            self.replica_sets_of.remove(&deployment, uid);
        }
    }

    /// Removes `ReplicaSet`s that were read long ago.
    pub(super) fn forget_replica_sets(&mut self, now: Instant) {
        let old = |at: &Instant| now.since(*at) >= KEEP_LONG;
        let sets = self.replica_sets.iter();
        let old = sets
            .filter(|(_, read)| old(&read.begun))
            .map(|(uid, _)| uid);
        for uid in old.cloned().collect::<Vec<_>>() {
            self.forget_replica_set(&uid);
        }
    }
}
