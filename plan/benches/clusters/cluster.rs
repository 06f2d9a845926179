//! One cluster: a paced engine, its API server and its interfaces. A request becomes a thing that is due later.

use std::collections::BTreeMap;
use std::time::Duration;

use mooring_plan::address::Address;
use mooring_plan::cloud::InstanceState;
use mooring_plan::engine::{Completion, Effect, Engine, Event, Work};
use mooring_plan::facts::{CallError, Fact, WriteOutcome, Written};
use mooring_plan::names::IpName;
use mooring_plan::objects::IpStatus;
use mooring_plan::outcome::Outcome;
use mooring_plan::step::{CallGroup, Read, Write};
use mooring_plan::time::Instant;
use mooring_world::engine::answer;
use mooring_world::kube::Kube;

use crate::account::Account;
use crate::chance::Chance;
use crate::interfaces::{Interfaces, MAX_ADDRESSES, refused};

/// The subnet of each cluster.
pub const SUBNET_RANGE: &str = "10.0.0.0/8";
/// From the sending of a call to its execution, and from there to the answer.
const HALF_A_CALL: Duration = Duration::from_millis(10);
const DESCRIBE: Duration = Duration::from_millis(20);
const READ: Duration = Duration::from_millis(2);
/// From the answer to a write until a watch shows the object.
const WATCH: Duration = Duration::from_millis(2);

type Members = Vec<(IpName, Address)>;

/// What is due at a moment.
#[derive(Clone, Debug)]
pub enum Due {
    /// The engine asked to be called.
    Wake,
    /// The API server carries it out and answers.
    Effect(Box<Effect>),
    /// A call reaches EC2.
    Call(CallGroup, Members),
    /// The engine receives an event.
    Deliver(Box<Event>),
    /// The next pod of this IP is bound to that node.
    Bound(u32, u32),
    /// The pod that had this IP goes.
    Gone(u32),
}

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    pub engine: Engine,
    pub kube: Kube,
    pub interfaces: Interfaces,
    pub chance: Chance,
    /// When each address was recorded last.
    pub recorded: BTreeMap<IpName, Instant>,
    /// When the earliest [`Due::Wake`] is.
    pub wake: Option<Instant>,
}

impl Cluster {
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            kube: Kube::with_one_counter(),
            interfaces: Interfaces::default(),
            chance: Chance::new(0),
            recorded: BTreeMap::new(),
            wake: None,
        }
    }

    /// What the engine begins now, each with the time until it is due.
    pub fn begin(&mut self, now: Instant, mut later: impl FnMut(Instant, Due)) {
        while let Some(effect) = self.engine.poll(now) {
            let takes = match effect {
                Effect::Post(_) | Effect::Report(_) | Effect::Resign => continue,
                Effect::Calls(group, members) => {
                    later(now.plus(HALF_A_CALL), Due::Call(group, members));
                    continue;
                }
                Effect::Read(..) | Effect::ListIps => READ,
                Effect::Write { .. } => Duration::from_millis(5 + self.chance.below(5)),
                // What it lists is as it was when it was begun.
                Effect::Inventory(subnet) => {
                    let listed = Fact::InventoryDone(subnet.clone(), self.interfaces.describe());
                    let done = Event::Completed(Work::Inventory(subnet), listed.into());
                    later(now.plus(DESCRIBE), Due::Deliver(Box::new(done)));
                    continue;
                }
                Effect::BlockSteps(..) | Effect::NodeStep(..) => DESCRIBE,
            };
            later(now.plus(takes), Due::Effect(Box::new(effect)));
        }
        let wake = self.engine.wake_at(now);
        if wake != Instant::NEVER && self.wake.is_none_or(|known| wake < known || known <= now) {
            self.wake = Some(wake);
            later(wake, Due::Wake);
        }
    }

    /// A call reaches EC2, which draws a token for it or refuses it.
    pub fn call(
        &mut self,
        account: &mut Account,
        group: CallGroup,
        members: Members,
        now: Instant,
        mut later: impl FnMut(Instant, Due),
    ) {
        let result: Result<(), CallError> = if account.draw(group.action(), now) {
            let addresses: Vec<_> = members.iter().map(|(_, address)| *address).collect();
            self.interfaces.execute(&group, &addresses)
        } else {
            Err(refused(Outcome::Throttled, "RequestLimitExceeded"))
        };
        let answer = Event::Called(group, members, result);
        later(now.plus(HALF_A_CALL), Due::Deliver(Box::new(answer)));
    }

    /// The API server carries out an effect, answers, and shows the change.
    pub fn carry_out(&mut self, effect: Effect, now: Instant, mut later: impl FnMut(Instant, Due)) {
        let mut shown = Vec::new();
        let (work, completion): (Work, Completion) = match effect {
            Effect::Read(ip, Read::Instance(id)) => {
                let fact = Fact::InstanceRead(id, Some(InstanceState::Running));
                (Work::Ip(ip), fact.into())
            }
            Effect::Read(ip, read) => {
                let fact = self.kube.read(&ip, &read);
                (Work::Ip(ip), fact.into())
            }
            Effect::ListIps => {
                let ips = self.kube.ips.values().cloned().collect();
                (Work::Ips, Fact::IpsRead(ips).into())
            }
            Effect::Write { ip, write, .. } => {
                let fact = self.write(&ip, write, now);
                if let Fact::Wrote {
                    outcome: WriteOutcome::Done(Some(written)),
                    ..
                } = &fact
                {
                    shown.push(match written.clone() {
                        Written::Ip(ip) => Fact::Ip(ip),
                        Written::Pod(pod) => Fact::Pod(pod),
                        Written::Reservation(held) => Fact::Reservation(held),
                    });
                }
                (Work::Ip(ip), fact.into())
            }
            Effect::BlockSteps(block, steps) => {
                let mut answers = Vec::new();
                for step in steps {
                    shown.extend(self.kube.block_step(&block, &step));
                    let limit = u32::try_from(MAX_ADDRESSES).unwrap();
                    answers.extend(answer(step, SUBNET_RANGE, limit));
                }
                (Work::Block(block), answers.into())
            }
            other => panic!("no scenario leads to {other:?}"),
        };
        self.engine.handle(Event::Completed(work, completion), now);
        for fact in shown {
            later(now.plus(WATCH), Due::Deliver(Box::new(Event::Fact(fact))));
        }
    }

    fn write(&mut self, ip: &IpName, write: Write, now: Instant) -> Fact {
        let outcome = self.kube.write(&write);
        // The IPs at rest are not in the API server any more: none of them is to be written.
        assert_ne!(outcome, WriteOutcome::NotFound, "{ip}: {write:?}");
        if let (Write::Status { status, .. }, WriteOutcome::Done(_)) = (&write, &outcome)
            && is_recorded(status)
        {
            self.recorded.entry(ip.clone()).or_insert(now);
        } else if matches!(write, Write::Status { .. }) {
            self.recorded.remove(ip);
        }
        Fact::Wrote {
            ip: ip.clone(),
            write,
            outcome,
        }
    }
}

fn is_recorded(status: &IpStatus) -> bool {
    let claim = status.claim.as_ref();
    claim.is_some_and(mooring_plan::objects::Claim::recorded)
}
