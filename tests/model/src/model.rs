//! A configuration as a model of stateright.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mooring_plan::names::IpName;
use mooring_plan::step::Step;
use stateright::{Model, Property};

use crate::action::{Action, Fault, FaultKind};
use crate::fixtures::Fixtures;
use crate::liveness::Liveness;
use crate::milestone::Milestone;
use crate::rules::{Rule, when_received};
use crate::state::State;
use crate::world::events::Event;

/// The time that passes while requests are in progress: longer than a read stays fresh, longer than the longest
/// delay of a call, and longer than the longest lag of a Describe.
const DELAY: Duration = Duration::from_secs(11);

/// The liveness property.
pub const SETTLES: &str = "without further faults it comes to rest, and the goal is reached";

/// A named configuration.
#[derive(Clone)]
pub struct Configuration {
    pub name: &'static str,
    pub fixtures: Fixtures,
    pub initial: State,
    /// External events: the events of a track happen in order; the order between tracks is free.
    pub tracks: Vec<Vec<Event>>,
    /// The faults that can happen.
    pub fault_kinds: Vec<FaultKind>,
    /// The effects that must be reached.
    pub milestones: Vec<Milestone>,
    /// The maximum number of times that time passes without a change. The liveness runs, which start in each
    /// state, wait as long as necessary.
    pub waits: u8,
    /// Is an inventory answered at once, and is a read done as soon as it is wanted?
    pub prompt: bool,
    pub liveness: Arc<Liveness>,
}

impl Configuration {
    fn enabled(&self, kind: FaultKind) -> bool {
        self.fault_kinds.contains(&kind)
    }

    fn faults(&self, state: &State, actions: &mut Vec<Action>) {
        if state.faults == 0 {
            return;
        }
        let mut add = |fault| actions.push(Action::Fault(fault));
        for (which, controller) in state.controllers.iter().enumerate() {
            if self.enabled(FaultKind::Crash) {
                add(Fault::Crash(which));
            }
            if self.enabled(FaultKind::Relist) && !controller.pending.is_empty() {
                add(Fault::Relist(which));
            }
            if self.enabled(FaultKind::OldInventory)
                && state.leads(which)
                && controller.state.inventory_due
            {
                for of in 1..=state.old_clouds.len() {
                    add(Fault::OldInventory(which, of));
                }
            }
            for (ip, request) in &controller.requests {
                let call = matches!(request.sent.step, Step::Call(_));
                if self.enabled(FaultKind::Timeout) || call && self.enabled(FaultKind::CallTimeout)
                {
                    add(Fault::Timeout(which, ip.clone()));
                }
                // A write has no second effect, because its version is then old.
                if self.enabled(FaultKind::Duplicate) && call && request.answer.is_some() {
                    add(Fault::Duplicate(which, ip.clone()));
                }
            }
        }
        if self.enabled(FaultKind::Delay) && !state.at_rest() {
            add(Fault::Delay);
        }
    }
}

impl Model for Configuration {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.initial.clone()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        for (track, at) in state.at.iter().enumerate() {
            let event = self.tracks[track].get(*at);
            if event.is_some_and(|event| event.is_possible(&state.kube)) {
                actions.push(Action::Event(track));
            }
        }
        let mut idle = true;
        for (which, controller) in state.controllers.iter().enumerate() {
            let mut busy = Vec::new();
            let receivable = controller
                .pending
                .keys()
                .filter(|kind| !controller.answer_follows(**kind));
            busy.extend(receivable.map(|kind| Action::ReceiveEvent(which, *kind)));
            for (ip, request) in &controller.requests {
                busy.push(match request.answer {
                    None => Action::Execute(which, ip.clone()),
                    Some(_) => Action::ReceiveAnswer(which, ip.clone()),
                });
            }
            let leads = state.leads(which);
            let ips: BTreeSet<&IpName> = controller.facts().ip_names().collect();
            for ip in ips.into_iter().filter(|_| leads) {
                if controller.next_step(ip).is_some() {
                    busy.push(Action::StartStep(which, ip.clone()));
                }
            }
            if leads {
                let groups = controller.groups().into_iter();
                busy.extend(groups.map(|group| Action::SendTogether(which, group)));
            }
            if controller.inventory().is_some() {
                busy.push(Action::ReceiveInventory(which));
            } else if leads && controller.state.inventory_due {
                busy.push(Action::TakeInventory(which));
            }
            idle &= busy.is_empty();
            actions.extend(busy);
        }
        for node in state.kube.nodes_with_part() {
            let (program, report) = (state.kube.can_program(&node), state.kube.can_report(&node));
            idle &= !program && !report;
            actions.extend(report.then(|| Action::Report(node.clone())));
            actions.extend(program.then_some(Action::Program(node)));
        }
        if idle && state.waits < self.waits {
            actions.push(Action::PassTime);
        }
        actions.extend(state.late.iter().cloned().map(Action::ExecuteLate));
        self.faults(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.milestone = None;
        match action {
            Action::Event(track) => {
                let event = &self.tracks[track][state.at[track]];
                state.at[track] += 1;
                state.apply(event);
            }
            Action::ReceiveEvent(which, kind) => state.receive(which, kind),
            Action::StartStep(which, ip) => state.begin(&self.fixtures, which, &ip),
            Action::SendTogether(which, group) => {
                state.begin_together(&self.fixtures, which, &group);
            }
            Action::Execute(which, ip) => state.execute(&self.fixtures, which, &ip),
            Action::ReceiveAnswer(which, ip) => state.answer(which, &ip),
            Action::TakeInventory(which) => {
                state.take_inventory(which, 0);
                if self.prompt {
                    state.receive_inventory(which);
                }
            }
            Action::ReceiveInventory(which) => state.receive_inventory(which),
            Action::PassTime => {
                state.pass_until_due();
                state.waits += 1;
            }
            Action::Program(node) => state.program(&node),
            Action::Report(node) => state.report(&node),
            Action::ExecuteLate(late) => state.execute_late(&self.fixtures, &late),
            Action::Fault(fault) => {
                state.use_fault();
                match fault {
                    Fault::Crash(which) => state.crash(which),
                    Fault::Timeout(which, ip) => state.time_out(which, &ip),
                    Fault::Duplicate(which, ip) => state.duplicate(which, &ip),
                    Fault::OldInventory(which, of) => {
                        // The index is from before the last fault, which removed the old states of EC2.
                        state.old_clouds.clone_from(&last.old_clouds);
                        state.take_inventory(which, of);
                        if state.faults == 0 {
                            state.old_clouds.clear();
                        }
                    }
                    Fault::Relist(which) => state.relist(which),
                    Fault::Delay => state.pass(DELAY),
                }
            }
        }
        if self.prompt {
            state.read_all_wanted(&self.fixtures);
        }
        state.drop_obsolete_requests();
        if state.controllers.len() > 1 {
            state.sort_controllers();
        }
        let received = when_received(&state);
        state.record_violation(received);
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn keeps<const RULE: usize>(_: &Configuration, state: &State) -> bool {
            let broken = state.broken.as_ref();
            broken.is_none_or(|broken| broken.rule != Rule::ALL[RULE])
        }
        fn reached<const INDEX: usize>(model: &Configuration, state: &State) -> bool {
            state.milestone.is_some() && state.milestone == model.milestones.get(INDEX).copied()
        }
        let rules: [fn(&Self, &State) -> bool; 9] = [
            keeps::<0>, keeps::<1>, keeps::<2>, keeps::<3>, keeps::<4>, keeps::<5>, keeps::<6>,
            keeps::<7>, keeps::<8>,
        ];
        let milestones: [fn(&Self, &State) -> bool; 5] = [
            reached::<0>,
            reached::<1>,
            reached::<2>,
            reached::<3>,
            reached::<4>,
        ];
        assert!(
            self.milestones.len() <= milestones.len(),
            "more milestones than properties"
        );
        let always = Rule::ALL.iter().zip(rules);
        let always = always.map(|(rule, keeps)| Property::always(rule.name(), keeps));
        let settles = Property::always(SETTLES, |model: &Self, state: &State| {
            state.broken.is_some() || model.liveness.settles(&model.fixtures, state).is_ok()
        });
        let sometimes = self.milestones.iter().zip(milestones);
        let sometimes =
            sometimes.map(|(milestone, reached)| Property::sometimes(milestone.name(), reached));
        always.chain([settles]).chain(sometimes).collect()
    }
}
