//! Executes calls, from the sender to the answer. A call that was sent is executed even if its sender has stopped
//! waiting.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use ec2_emulator::front::buckets::Bucket;
use ec2_emulator::state::request::{Change, Request, Response, Wanted};
use ec2_emulator::wire::action::Kind;
use ec2_emulator::wire::{Action, Form, Refusal, answer, request};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::{Call, Cloud, Execution, Fate};

/// The answer of EC2.
#[derive(Debug)]
pub(super) enum Answer {
    Xml(u16, String),
    /// The connection broke.
    Broken,
}

/// A call in progress.
struct Incoming {
    client: String,
    action: Action,
    form: Form,
    /// Its index in the mutating calls.
    entry: Option<usize>,
    /// The description for the trace.
    text: String,
}

/// After this time without an answer every client has stopped waiting.
const CLIENT_TIMEOUT: Duration = Duration::from_hours(1);

impl Cloud {
    /// Handles a call. The answer, if there is one, is sent over the channel.
    pub(super) fn begin(&self, client: &str, body: &[u8]) -> oneshot::Receiver<Answer> {
        let (mut sender, receiver) = oneshot::channel();
        let form = Form::parse(body);
        let action = form.required("Action").map(str::parse::<Action>);
        let Ok(Ok(action)) = action else {
            panic!("the SDK sent an unknown call: {form:?}");
        };
        let incoming = self.arrive(client, action, form);
        self.lock().begun += 1;
        let cloud = self.clone();
        tokio::spawn(async move {
            let answer = cloud.carry(&incoming, &mut sender).await;
            cloud.hold_back(&incoming.client).await;
            cloud.end(&incoming, answer, sender);
        });
        receiver
    }

    fn arrive(&self, client: &str, action: Action, form: Form) -> Incoming {
        let interface = form.text("NetworkInterfaceId").unwrap_or_default();
        let addresses = form.values::<Ipv4Addr>("PrivateIpAddress");
        let addresses: Vec<Ipv4Addr> = addresses.unwrap_or_default().into_iter().collect();
        let reassign = form.flag("AllowReassignment").unwrap_or_default();
        let mut text = format!("{client} {action}");
        let mut entry = None;
        if action.kind() == Kind::Change {
            text = format!("{text} {interface} {addresses:?} reassign={reassign}");
            let call = Call {
                client: client.to_owned(),
                action,
                interface: interface.to_owned(),
                addresses,
                reassign,
                sent: self.log.moment(),
                executed: Vec::new(),
                answered: None,
            };
            let mut inside = self.lock();
            entry = Some(inside.calls.len());
            text = format!("#{} {text}", inside.calls.len());
            inside.calls.push(call);
        }
        self.log.note(format!("cloud    sent {text}"));
        Incoming {
            client: client.to_owned(),
            action,
            form,
            entry,
            text,
        }
    }

    async fn carry(&self, call: &Incoming, waiting: &mut oneshot::Sender<Answer>) -> Answer {
        self.hold_back(&call.client).await;
        let (fate, latency) = {
            let mut guard = self.lock();
            let inside = &mut *guard;
            let fate = inside.faults.fate(call.action, &mut inside.chance);
            let (from, to) = inside.faults.latency;
            (fate, inside.chance.millis(from, to))
        };
        if fate != Fate::Served {
            self.log
                .fault(format!("cloud    fault {fate:?} for {}", call.text));
        }
        sleep(latency / 2).await;
        let refused = |refusal: Refusal| {
            let body = refusal.to_xml("00000000-0000-4000-8000-000000000000");
            Answer::Xml(refusal.status, body)
        };
        let error = || {
            refused(Refusal::new(
                "InternalError",
                "An internal error has occurred",
            ))
        };
        let answer = match fate {
            Fate::Served => self.serve(call, waiting),
            Fate::LostBefore => return Answer::Broken,
            Fate::Silence => {
                tokio::select! {
                    biased;
                    () = waiting.closed() => {}
                    () = sleep(CLIENT_TIMEOUT) => {}
                }
                return Answer::Broken;
            }
            Fate::LostAfter => {
                self.serve(call, waiting);
                return Answer::Broken;
            }
            Fate::ErrorBefore => error(),
            Fate::ErrorAfter => {
                self.serve(call, waiting);
                error()
            }
            Fate::Late(by) => {
                sleep(by).await;
                self.serve(call, waiting)
            }
            Fate::LateAnswer(by) => {
                let answer = self.serve(call, waiting);
                sleep(by).await;
                answer
            }
            Fate::Twice(by) => {
                let answer = self.serve(call, waiting);
                let (cloud, again) = (self.clone(), call.again());
                tokio::spawn(async move {
                    sleep(by).await;
                    let (no_receiver, _) = oneshot::channel();
                    cloud.serve(&again, &no_receiver);
                });
                answer
            }
            Fate::Throttled => refused(Refusal::throttled()),
            Fate::Denied => refused(Refusal::new(
                "UnauthorizedOperation",
                "You are not authorized to perform this operation.",
            )),
        };
        sleep(latency / 2).await;
        answer
    }

    /// A paused process neither sends nor receives.
    async fn hold_back(&self, client: &str) {
        loop {
            let now = self.log.now();
            let until = {
                let mut inside = self.lock();
                inside.paused.retain(|(_, until)| *until > now);
                let of = inside.paused.iter().filter(|(paused, _)| paused == client);
                of.map(|(_, until)| *until).max()
            };
            let Some(until) = until else { return };
            sleep(until.saturating_sub(now)).await;
        }
    }

    fn serve(&self, call: &Incoming, waiting: &oneshot::Sender<Answer>) -> Answer {
        let body = self.execute(call, !waiting.is_closed());
        match body {
            Ok(body) => Answer::Xml(200, body),
            Err(refusal) => {
                let body = refusal.to_xml("00000000-0000-4000-8000-000000000000");
                Answer::Xml(refusal.status, body)
            }
        }
    }

    fn execute(&self, call: &Incoming, awaited: bool) -> Result<String, Refusal> {
        let action = call.action;
        let narrowed = request::narrowed(&call.form);
        let moment = self.log.moment();
        let mut guard = self.lock();
        let inside = &mut *guard;
        if !inside.buckets.draw(Bucket { action, narrowed }, moment.at) {
            return Err(Refusal::throttled());
        }
        let mut asked = request::read(action, &call.form)?;
        if action == Action::DescribeNetworkInterfaces
            && let Some(count) = inside.page
        {
            asked.page = asked.page.at_most(count);
        }
        let write = |ec2: &_, response| {
            answer::write(
                action,
                ec2,
                response,
                &asked.page,
                asked.narrowed,
                "00000000-0000-4000-8000-000000000001",
            )
        };
        match asked.request {
            Request::Read(read) => {
                let lag = inside.faults.lag;
                let ec2 = inside.seen.seen(moment.at, lag);
                write(&ec2, Response::Seen(ec2.read(&read)?))
            }
            Request::Change(change) => {
                let found_on = found_on(&inside.ec2, &change);
                let before = inside.ec2.clone();
                let result = inside.ec2.change(change);
                let effective = before != inside.ec2;
                let refused = result.as_ref().err().map(|error| error.code.to_string());
                let outcome = refused.as_deref().unwrap_or("done");
                let line = format!("cloud    executed {}: {outcome}", call.text);
                if let Some(entry) = call.entry.and_then(|entry| inside.calls.get_mut(entry)) {
                    entry.executed.push(Execution {
                        moment,
                        awaited,
                        found_on,
                        effective,
                        refused,
                    });
                }
                if result.is_ok() {
                    inside.record(moment.at);
                }
                let written = result.map(|changed| write(&inside.ec2, Response::Changed(changed)));
                drop(guard);
                self.log.note(line);
                written?
            }
        }
    }

    fn end(&self, call: &Incoming, answer: Answer, waiting: oneshot::Sender<Answer>) {
        let text = match &answer {
            Answer::Xml(status, body) => format!("{status} {:016x}", digest(body)),
            Answer::Broken => "broken".to_owned(),
        };
        let received = waiting.send(answer).is_ok();
        let moment = self.log.moment();
        if let Some(entry) = call.entry.filter(|_| received)
            && let Some(entry) = self.lock().calls.get_mut(entry)
        {
            entry.answered = Some(moment);
        }
        let received = if received {
            ""
        } else {
            ", and no client waits"
        };
        self.log
            .note(format!("cloud    answered {}: {text}{received}", call.text));
    }
}

impl Incoming {
    fn again(&self) -> Self {
        Self {
            client: self.client.clone(),
            action: self.action,
            form: self.form.clone(),
            entry: self.entry,
            text: format!("{} again", self.text),
        }
    }
}

/// The other interfaces that have the addresses of an Assign.
fn found_on(ec2: &ec2_emulator::state::Ec2, change: &Change) -> BTreeMap<Ipv4Addr, String> {
    let Change::AssignPrivateIpAddresses {
        interface,
        wanted: Wanted::Addresses(addresses),
        ..
    } = change
    else {
        return BTreeMap::new();
    };
    let Ok(to) = ec2.interface(*interface) else {
        return BTreeMap::new();
    };
    let elsewhere = addresses.iter().filter_map(|address| {
        let holder = ec2.holder(to.subnet, *address)?;
        (holder.id != *interface).then(|| (*address, holder.id.to_string()))
    });
    elsewhere.collect()
}

/// A hash of the answer for the trace, so that different long answers are visible.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
