//! Applies a fault at a point of a story, and checks that it took effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mooring_cluster::{Fault as Ec2Fault, FaultId, ProxiedWrite, Rule, RuleId};

use super::point::{Point, Write};
use super::site::{Lot, Names};
use super::story::LONG;
use crate::harness::scene::SOON;

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL after the write was sent and before it is executed. It is never executed.
    KilledBefore,
    /// SIGKILL after the write was executed and before it is answered.
    KilledAfter,
    /// Executed; the connection is closed before the answer.
    AnswerLost,
    /// Executed; watches and inventories show it before the answer arrives.
    AnswerSlow,
    /// Executed; answered after the timeout of the client has passed.
    AnswerLate,
    /// Executed twice; the client gets the first answer.
    DoneTwice,
    /// Executed twice; the client gets the second answer. Only for writes to Kubernetes.
    DoneTwiceAnsweredLast,
}

impl Fault {
    pub const ALL: [Self; 7] = [
        Self::KilledBefore,
        Self::KilledAfter,
        Self::AnswerLost,
        Self::AnswerSlow,
        Self::AnswerLate,
        Self::DoneTwice,
        Self::DoneTwiceAnsweredLast,
    ];

    pub const fn kills(self) -> bool {
        matches!(self, Self::KilledBefore | Self::KilledAfter)
    }

    /// Is this fault possible at this point?
    pub const fn applies_to(self, point: &Point) -> bool {
        !matches!(
            (self, &point.write),
            (Self::DoneTwiceAnsweredLast, Write::Call { .. })
        )
    }
}

/// A delay that is longer than watches and an inventory need.
const SLOW: Duration = Duration::from_millis(1500);
/// A delay that is longer than the timeouts of Mooring for the API server and for a mutating call of EC2 (5 s each).
const LATE: Duration = Duration::from_secs(6);
/// The number of inventories (one per second) by which a slow answer of EC2 is delayed.
const SLOW_LOOKS: u64 = 2;

/// A fault that is set at its point.
pub struct Placed<'a> {
    lot: &'a Lot<'a>,
    fault: Fault,
    interceptor: Interceptor,
    /// Holds all later writes of the replay after the fault was applied, so that Mooring makes no progress until it is
    /// killed.
    frozen: Option<(RuleId, Arc<AtomicBool>)>,
}

/// The outcome of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    TookEffect,
    /// Another program (for example a kubelet) had just changed the object. So the write was refused, and the fault had
    /// no effect.
    Refused,
}

/// The component that applies the fault.
enum Interceptor {
    Proxy(RuleId),
    Ec2(FaultId),
}

/// Sets the fault for the write at this point.
pub async fn place<'a>(lot: &'a Lot<'a>, point: &Point, fault: Fault) -> Placed<'a> {
    let struck = Arc::new(AtomicBool::new(false));
    let interceptor = match &point.write {
        Write::Object { .. } => {
            let matches = exactly(lot.names.clone(), point.clone(), Arc::clone(&struck));
            let rule = match fault {
                Fault::KilledBefore => Rule::hold_before(matches),
                Fault::KilledAfter => Rule::hold_after(matches),
                Fault::AnswerLost => Rule::lose_answer(matches),
                Fault::AnswerSlow => Rule::delay_answer(SLOW, matches),
                Fault::AnswerLate => Rule::delay_answer(LATE, matches),
                Fault::DoneTwice => Rule::twice(matches),
                Fault::DoneTwiceAnsweredLast => Rule::twice_answered_last(matches),
            };
            Interceptor::Proxy(lot.site.proxy.order(rule))
        }
        Write::Call { action, role } => {
            let mut addresses = lot.names.addresses.iter();
            let address = addresses
                .find(|address| lot.names.role_of_address(address) == role)
                .expect("a call names one of the replay's addresses");
            let order = match fault {
                Fault::KilledBefore => Ec2Fault::hold_before(),
                Fault::DoneTwice => Ec2Fault::twice(),
                _ => Ec2Fault::hold_after(),
            };
            let before = u64::try_from(point.before).expect("a few");
            let order = order.of(action).address(address).skip(before);
            Interceptor::Ec2(lot.scene().ec2().fault(order).await)
        }
    };
    let frozen = fault.kills().then(|| {
        let (names, flag) = (lot.names.clone(), Arc::clone(&struck));
        let rest = move |write: &ProxiedWrite| flag.load(Ordering::SeqCst) && names.own(write);
        (
            lot.site.proxy.order(Rule::hold_before(rest).forever()),
            struck,
        )
    });
    Placed {
        lot,
        fault,
        interceptor,
        frozen,
    }
}

/// Matches only the write of this point, and sets `struck` when it arrives.
fn exactly(
    names: Names,
    point: Point,
    struck: Arc<AtomicBool>,
) -> impl Fn(&ProxiedWrite) -> bool + Send {
    let seen = AtomicUsize::new(0);
    move |write| {
        let is_it = Write::of(write, &names).as_ref() == Some(&point.write)
            && seen.fetch_add(1, Ordering::SeqCst) == point.before;
        if is_it {
            struck.store(true, Ordering::SeqCst);
        }
        is_it
    }
}

impl Placed<'_> {
    /// Waits until the fault was applied, and releases what it holds.
    pub async fn strike(&self) {
        let (scene, proxy) = (self.lot.scene(), &self.lot.site.proxy);
        match self.interceptor {
            Interceptor::Proxy(rule) => {
                scene
                    .eventually("the fault has taken effect", LONG, async || {
                        proxy.struck(rule).ok_or_else(|| self.came())
                    })
                    .await;
            }
            Interceptor::Ec2(_) if self.fault == Fault::DoneTwice => {
                let addresses = &self.lot.names.addresses;
                scene
                    .eventually("the call was executed twice", LONG, async || {
                        let history = scene.ec2().history().await;
                        history.iter().any(|mutation| {
                            let ours = |address: &String| addresses.contains(address);
                            mutation.repeated && mutation.addresses.iter().any(ours)
                        })
                    })
                    .await;
            }
            Interceptor::Ec2(fault) => {
                scene
                    .eventually("the call is held", LONG, async || {
                        let held = scene.ec2().held().await;
                        let ours = held.iter().any(|call| call.fault == fault.0);
                        if ours { Ok(()) } else { Err(self.came()) }
                    })
                    .await;
                self.answer_ec2(fault).await;
            }
        }
        if let Some((_, struck)) = &self.frozen {
            struck.store(true, Ordering::SeqCst);
            for address in &self.lot.names.addresses {
                let order = Ec2Fault::hold_before().address(address).forever();
                scene.ec2().fault(order).await;
            }
        }
    }

    async fn answer_ec2(&self, fault: FaultId) {
        let ec2 = self.lot.scene().ec2();
        match self.fault {
            Fault::AnswerLost => ec2.drop_held(fault).await,
            Fault::AnswerSlow => {
                self.looks(SLOW_LOOKS).await;
                ec2.release(fault).await;
            }
            Fault::AnswerLate => {
                self.time_out(fault).await;
                ec2.release(fault).await;
            }
            _ => {}
        }
    }

    /// Holds the answer until Mooring has stopped waiting for it.
    async fn time_out(&self, fault: FaultId) {
        let scene = self.lot.scene();
        scene
            .remains("the call is held", LATE, async || {
                let held = scene.ec2().held().await;
                held.iter().any(|call| call.fault == fault.0)
            })
            .await;
        let timeouts = ["PrivateIpAddresses", "code=\"Timeout\""];
        scene
            .eventually("the call has timed out", SOON, async || {
                let mooring = Arc::clone(&*self.lot.site.mooring.lock().await);
                mooring
                    .metric("mooring_ec2_requests_total", &timeouts)
                    .await
                    >= 1.0
            })
            .await;
    }

    /// Waits for this number of inventories.
    async fn looks(&self, count: u64) {
        let scene = self.lot.scene();
        let looked = async || scene.ec2().calls().await.of("DescribeNetworkInterfaces");
        let begin = looked().await;
        scene
            .eventually("inventories go on", SOON, async || {
                looked().await >= begin + count
            })
            .await;
    }

    /// Drops the held writes: those that were not executed never are, and nothing blocks the next process. An error if
    /// the fault had no effect.
    pub fn settle(&self) -> Result<Settled, String> {
        let proxy = &self.lot.site.proxy;
        if let Some((rest, _)) = &self.frozen {
            proxy.drop_held(*rest);
        }
        let Interceptor::Proxy(rule) = self.interceptor else {
            return Ok(Settled::TookEffect);
        };
        proxy.drop_held(rule);
        let answers = proxy.struck(rule).map(|write| write.answers);
        match (self.fault, answers.as_deref()) {
            (Fault::KilledBefore, Some([]))
            | (
                Fault::KilledAfter | Fault::AnswerLost | Fault::AnswerSlow | Fault::AnswerLate,
                Some([200..300]),
            )
            | (Fault::DoneTwice | Fault::DoneTwiceAnsweredLast, Some([200..300, _])) => {
                Ok(Settled::TookEffect)
            }
            (_, Some([409, ..])) => Ok(Settled::Refused),
            (_, seen) => Err(format!("the fault did not take effect: answered {seen:?}")),
        }
    }

    /// The writes of the replay so far, for the failure message if a point never arrives.
    fn came(&self) -> Vec<String> {
        let names = &self.lot.names;
        let writes = self.lot.site.proxy.writes().into_iter();
        writes
            .filter_map(|write| {
                let kind = Write::of(&write, names)?;
                Some(format!(
                    "{} {:?}",
                    Point {
                        write: kind,
                        before: 0
                    },
                    write.answers
                ))
            })
            .collect()
    }
}
