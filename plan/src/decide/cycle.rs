//! Finds deadlocks: Deployments whose pods wait for the addresses of each other. None of them can ever continue.
//! Rule: R3.30.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::World;
use crate::names::{DeploymentUid, IpName};
use crate::objects::Pod;

/// A pod of one Deployment waits for this IP, and a pod of another Deployment holds it.
struct Wait<'a> {
    ip: &'a IpName,
    holder: &'a Pod,
    by: &'a DeploymentUid,
}

impl<'a> World<'a> {
    /// Describes the cycle of waits from `waiting` back to its own Deployment; None if there is no cycle.
    pub(crate) fn cycle(&self, waiting: &'a Pod, holder: &'a Pod) -> Option<String> {
        let (from, by) = (self.deployment(waiting)?, self.deployment(holder)?);
        if from == by {
            return None;
        }
        let first = Wait {
            ip: &self.ip.name,
            holder,
            by,
        };
        let mut seen = BTreeSet::from([by]);
        let path = self.path(first, from, &mut seen)?;
        let mut path = path.iter();
        let first = path.next()?;
        let start = format!(
            "pod {} waits for IP {}, held by Deployment {}",
            waiting.key,
            first.ip,
            deployment_name(first.holder)
        );
        let rest = path.map(|wait| {
            format!(
                ", which waits for IP {}, held by Deployment {}",
                wait.ip,
                deployment_name(wait.holder)
            )
        });
        let rest: String = rest.collect();
        Some(format!(
            "{start}{rest}: scale one of them to 0 first, or use strategy Recreate"
        ))
    }

    /// A path of waits from this one to one whose holder belongs to `to`.
    fn path(
        &self,
        wait: Wait<'a>,
        to: &DeploymentUid,
        seen: &mut BTreeSet<&'a DeploymentUid>,
    ) -> Option<Vec<Wait<'a>>> {
        let by = wait.by;
        let mut path = Vec::from([wait]);
        if by == to {
            return Some(path);
        }
        for next in self.waits_of(by) {
            if next.by != to && !seen.insert(next.by) {
                continue;
            }
            if let Some(rest) = self.path(next, to, seen) {
                path.extend(rest);
                return Some(path);
            }
        }
        None
    }

    /// The IPs that pods of a Deployment wait for and that pods of other Deployments hold.
    fn waits_of(&self, deployment: &DeploymentUid) -> Vec<Wait<'a>> {
        let pods = self.facts.pods.values().map(|seen| &seen.pod);
        let asks = |pod: &&Pod| pod.annotated && !pod.ended && pod.deleting.is_none();
        let waits = pods.filter(asks).filter_map(|pod| {
            if self.deployment(pod) != Some(deployment) {
                return None;
            }
            let ip = self.facts.ips.get(pod.label.as_ref()?)?;
            let claim = ip.status.claim.as_ref()?;
            let holder = &self.facts.pods.get(&claim.uid)?.pod;
            let by = self.deployment(holder)?;
            (by != deployment && holder.deleting.is_none()).then_some(Wait {
                ip: &ip.name,
                holder,
                by,
            })
        });
        waits.collect()
    }

    fn deployment(&self, pod: &Pod) -> Option<&'a DeploymentUid> {
        let (_, uid) = pod.replica_set()?;
        self.facts.replica_sets.get(uid)?.value.deployment.as_ref()
    }
}

/// The name of the Deployment of a pod. The name of a `ReplicaSet` is that of its Deployment plus the hash of the
/// template.
fn deployment_name(pod: &Pod) -> &str {
    let set = pod.replica_set().map_or("", |(name, _)| name.as_str());
    set.rsplit_once('-').map_or(set, |(name, _)| name)
}
