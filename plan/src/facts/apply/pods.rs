//! Applies facts about pods, from a watch or an answer.

use alloc::collections::BTreeSet;

use crate::facts::{Affected, Facts, PodSeen};
use crate::names::{IpName, PodUid};
use crate::objects::Pod;
use crate::time::Instant;

/// If this many ended pods are remembered, those that no IP needs are removed. Otherwise only an inventory removes them,
/// and a process that does not lead takes none.
const MANY_ENDED: usize = 1024;

impl Facts {
    /// This pod ends, or has ended.
    pub(super) fn see_end_of(&mut self, uid: &PodUid) {
        let new = self.seen_terminating.insert(uid.clone());
        let count = self.seen_terminating.len();
        if new && count >= MANY_ENDED && count.is_power_of_two() {
            self.forget_ended_pods();
        }
    }

    /// Forgets the pods that have ended, except those that are known or hold an IP.
    pub(super) fn forget_ended_pods(&mut self) {
        let claims = self.ips.values().filter_map(|ip| ip.status.claim.as_ref());
        let held: BTreeSet<&PodUid> = claims.map(|claim| &claim.uid).collect();
        let pods = &self.pods;
        self.seen_terminating
            .retain(|uid| held.contains(uid) || pods.contains_key(uid));
    }

    pub(super) fn see_pod(&mut self, pod: Pod, now: Instant) -> Affected {
        let before = self.pods.get(&pod.uid).cloned();
        let before = before.as_ref();
        if before.is_some_and(|before| before.pod.version >= pod.version) {
            return Affected::Nothing;
        }
        if pod.deleting.is_some() || pod.ended || !pod.annotated {
            self.see_end_of(&pod.uid);
        } else {
            // Its label was removed for some time, or the API server was restored from a backup.
            self.seen_terminating.remove(&pod.uid);
        }
        if let Some(label) = &pod.label
            && self
                .missing_holders
                .get(label)
                .is_some_and(|(uid, _)| uid == &pod.uid)
        {
            let label = label.clone();
            self.clear_missing_holder(&label);
        }
        // An earlier quorum read of an older version is removed.
        let older = |read: &Pod| read.uid == pod.uid && read.version < pod.version;
        let read = self.reads.pods.get(&pod.key);
        if read.is_some_and(|read| read.value.as_ref().is_some_and(older)) {
            self.reads.pods.remove(&pod.key);
        }
        let seen = before.map_or(now, |before| before.seen);
        let deleting_since = pod.deleting.map(|_| {
            before
                .and_then(|before| before.deleting_since)
                .unwrap_or(now)
        });
        let bound_since = pod
            .node
            .as_ref()
            .map(|_| before.and_then(|before| before.bound_since).unwrap_or(now));
        let mut affected = self.affected_by_pod(&pod);
        if let Some(before) = before {
            self.index.remove_pod(&before.pod);
        }
        if let Some(label) = before.and_then(|before| before.pod.label.clone())
            && pod.label.as_ref() != Some(&label)
        {
            self.remove_pod_of(&label, &pod.uid);
            // The IP of the former label is affected too.
            affected.insert(label);
        }
        let Some(label) = pod.label.clone() else {
            self.pods.remove(&pod.uid);
            return Affected::of(affected);
        };
        self.index.add_pod(&pod);
        self.pods_of.insert(label.clone(), pod.uid.clone());
        self.pods.insert(
            pod.uid.clone(),
            PodSeen {
                pod,
                seen,
                version_seen: now,
                bound_since,
                deleting_since,
            },
        );
        if let Some(memory) = self.memory.get_mut(&label) {
            memory.failures.end_backoff(now);
        }
        if let Some(failures) = self.without_ip.get_mut(&label) {
            failures.end_backoff(now);
        }
        Affected::of(affected)
    }

    /// The label of the pod was removed by a write that was begun then.
    pub(super) fn lose_label(&mut self, uid: &PodUid, begun: Instant) -> Affected {
        // Another client can have put the label back since, and the watch will not show the pod again.
        let known = self.pods.get(uid);
        if known.is_some_and(|seen| seen.version_seen < begun) {
            self.lose_pod(uid)
        } else {
            Affected::Nothing
        }
    }

    pub(super) fn lose_pod(&mut self, uid: &PodUid) -> Affected {
        let Some(PodSeen { pod, .. }) = self.pods.remove(uid) else {
            return Affected::Nothing;
        };
        self.index.remove_pod(&pod);
        if let Some(label) = &pod.label {
            self.remove_pod_of(label, uid);
        }
        Affected::of(self.affected_by_pod(&pod))
    }

    /// This pod does not ask for this IP any more.
    fn remove_pod_of(&mut self, ip: &IpName, uid: &PodUid) {
        self.pods_of.remove(ip, uid);
        if let Some(memory) = self.memory.get_mut(ip) {
            memory.denied.retain(|(pod, _)| pod != uid);
            memory.failures.forget_pod(uid);
        }
        if self.pods_of.count(ip) == 0 {
            self.without_ip.remove(ip);
        }
    }
}
