//! Assertions about a world at rest.

use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::names::{InterfaceId, IpName};
use mooring_plan::objects::{ClaimPhase, Ip};
use mooring_plan::reason::Reason;
use mooring_plan::step::Call;
use mooring_world::goal::AtRest;

use super::{Counts, Sim};

fn has_reason(ip: &Ip, reason: Reason) -> bool {
    let attached = ip.status.conditions.attached.as_ref();
    attached.is_some_and(|condition| condition.reason == reason)
}

impl Sim {
    /// At rest, the state must match the specs.
    pub fn expect_the_goal(&self) {
        let goal = AtRest {
            kube: &self.kube,
            cloud: &self.ec2,
            manual: &|address, on| self.rules.ever_by_hand(address, on),
        };
        if let Err(why) = goal.check() {
            panic!("{why}\n{}", self.story());
        }
        self.expect_no_pod_to_wait_for_a_gone_ip();
    }

    /// Every pod of an IP that does not exist has the reason, or is released. No gate is `True` for such an IP, even if
    /// there is another IP of its name.
    fn expect_no_pod_to_wait_for_a_gone_ip(&self) {
        let gone = |name: &IpName| !self.kube.ips.contains_key(name);
        let pods = self.kube.pods.values();
        for pod in pods.clone().filter(|pod| pod.reports_attached()) {
            let lives = |uid| self.kube.ips.values().any(|ip| &ip.uid == uid);
            assert!(
                pod.ip.as_ref().is_some_and(lives),
                "the gate of {} is True for an IP that is gone\n{}",
                pod.key,
                self.story()
            );
        }
        let pods =
            pods.filter(|pod| pod.deleting.is_none() && pod.label.as_ref().is_some_and(gone));
        for pod in pods {
            if !pod.annotated {
                assert_eq!(
                    pod.ip,
                    None,
                    "{} keeps its label\n{}",
                    pod.key,
                    self.story()
                );
            } else if pod.gated && pod.node.is_some() && !pod.ended {
                self.expect_denied(&pod.key.name, Reason::StalePod);
            }
        }
    }

    /// The address is on the node of the pod and recorded, and only the gate of this pod is `True`.
    pub fn expect_attached(&self, ip: &str, pod: &str) {
        let story = || self.story();
        let ip = self.the_ip(ip);
        let claim = ip
            .status
            .claim
            .as_ref()
            .unwrap_or_else(|| panic!("there is no holder\n{}", story()));
        let holder = self.the_pod(pod);
        assert_eq!(claim.uid, holder.uid, "another holds it\n{}", story());
        let ClaimPhase::Recorded(target) = &claim.phase else {
            panic!("not recorded\n{}", story());
        };
        assert_eq!(Some(&target.node), holder.node.as_ref(), "{}", story());
        let address = ip.status.address.unwrap();
        assert_eq!(
            self.ec2.holder_of(address).as_ref(),
            Some(&target.place.interface),
            "{}",
            story()
        );
        let saying: Vec<_> = self.saying_attached(ip).map(|pod| &pod.uid).collect();
        assert_eq!(saying, [&holder.uid], "{}", story());
        assert!(has_reason(ip, Reason::Attached), "{}", story());
    }

    /// The IP is reserved, on no ENI and without a holder, and no gate is `True`.
    pub fn expect_free(&self, name: &str) {
        let ip = self.the_ip(name);
        assert!(
            ip.status.claim.is_none(),
            "there is a holder\n{}",
            self.story()
        );
        assert_eq!(self.saying_attached(ip).count(), 0, "{}", self.story());
        if let Some(address) = ip.status.address {
            assert_eq!(self.ec2.holder_of(address), None, "{}", self.story());
            assert!(
                self.kube.reservations.contains_key(&address),
                "{}",
                self.story()
            );
        }
    }

    /// The IP is gone, with its reservations and attached addresses.
    pub fn expect_gone(&self, name: &str) {
        assert!(
            !self.kube.ips.contains_key(&IpName::from(name)),
            "{name} is there\n{}",
            self.story()
        );
        let left: Vec<&Address> = self
            .kube
            .reservations
            .values()
            .filter(|held| held.parent == Some(IpName::from(name)))
            .map(|held| &held.address)
            .collect();
        assert!(left.is_empty(), "{left:?} still reserved\n{}", self.story());
    }

    /// The condition `Attached` has this reason.
    pub fn expect_reason(&self, name: &str, reason: Reason) {
        assert!(
            has_reason(self.the_ip(name), reason),
            "not {reason:?}\n{}",
            self.story()
        );
    }

    /// The condition `Reserved` is `False` with this reason.
    pub fn expect_not_reserved(&self, name: &str, reason: Reason) {
        let reserved = self
            .the_ip(name)
            .status
            .conditions
            .reserved
            .clone()
            .unwrap();
        assert!(
            !reserved.status && reserved.reason == reason,
            "{reserved:?}, not {reason:?}\n{}",
            self.story()
        );
    }

    pub fn expect_on(&self, address: &str, interface: Option<&str>) {
        let on = self.ec2.holder_of(super::address(address));
        assert_eq!(
            on.as_ref().map(InterfaceId::as_str),
            interface,
            "{}",
            self.story()
        );
    }

    /// The gate of the pod is `False` with this reason.
    pub fn expect_denied(&self, pod: &str, reason: Reason) {
        let gate = self
            .the_pod(pod)
            .gate
            .clone()
            .unwrap_or_else(|| panic!("no condition\n{}", self.story()));
        assert!(
            !gate.status && gate.reason == reason.as_str(),
            "{gate:?}\n{}",
            self.story()
        );
    }

    /// A pod without the annotation has the gate reason `NotRequested`, and no label.
    pub fn expect_released(&self, pod: &str) {
        let pod = self.the_pod(pod);
        let gate = pod.gate.as_ref();
        let reported =
            gate.is_some_and(|gate| gate.status && gate.reason == Reason::NotRequested.as_str());
        assert!(reported, "{gate:?}\n{}", self.story());
        assert_eq!((&pod.label, &pod.ip), (&None, &None), "{}", self.story());
    }

    /// "partner", which is being deleted, stays while this late Assign can be executed; then it is gone and its address
    /// is detached.
    pub fn expect_kept_until_landed(&mut self, late: &Call) {
        self.wait(Duration::from_secs(5));
        assert!(self.has_ip("partner"), "{}", self.story());
        self.ec2.execute(late, self.now).unwrap();
        self.settle();
        self.expect_gone("partner");
        self.expect_on("203.0.113.10", None);
    }

    /// Only this address is reserved.
    pub fn expect_reserved_only(&self, address: &str) {
        let reserved: Vec<&Address> = self.kube.reservations.keys().collect();
        assert_eq!(reserved, [&super::address(address)], "{}", self.story());
    }

    /// An Event with this reason was posted on this pod, or on "IP name".
    pub fn expect_event(&self, on: &str, reason: Reason) {
        assert!(
            self.rules.reported(on, reason),
            "no Event {reason:?} on {on}\n{}",
            self.story()
        );
    }

    /// Numbers since the last check: calls to EC2, status writes, writes of gates.
    pub fn expect_cost(&mut self, calls: u32, status_writes: u32, gate_writes: u32) {
        let Counts {
            status_writes: statuses,
            gate_writes: gates,
            ..
        } = self.counts;
        assert_eq!(
            (self.counts.calls(), statuses, gates),
            (calls, status_writes, gate_writes),
            "(calls, status writes, pod writes)\n{}",
            self.story()
        );
        self.counts = Counts::default();
    }

    /// Resets the counts.
    pub fn count_from_here(&mut self) {
        self.counts = Counts::default();
    }
}
