//! A configuration as stateright explores it.

use std::collections::BTreeSet;
use std::sync::Arc;

use mooring_plan::names::{IpName, Millis};
use mooring_plan::step::Step;
use stateright::{Model, Property};

use crate::action::{Action, Befalls, Fault};
use crate::calm::Calm;
use crate::cast::Cast;
use crate::mark::Mark;
use crate::rules::Rule;
use crate::state::State;
use crate::world::events::Event;

/// So long does something take where time passes although something is under way: longer than a read
/// is fresh, than a late call may take and than a Describe lags.
const SLOW: Millis = Millis::seconds(11);

/// The liveness property.
pub const SETTLES: &str = "without further faults it comes to rest, and rests where it should";

/// A named configuration.
#[derive(Clone)]
pub struct Configuration {
    pub name: &'static str,
    pub cast: Cast,
    pub initial: State,
    /// What happens by itself: each track in its order, the tracks in any.
    pub tracks: Vec<Vec<Event>>,
    /// The faults that may befall.
    pub befalls: Vec<Befalls>,
    /// What has to be reached.
    pub reaches: Vec<Mark>,
    /// Where nothing happens, time passes so often; what else would come of waiting is seen to from each
    /// state by the calm runs, which wait for as long as it takes.
    pub waits: u8,
    /// Is an inventory answered at once, and a read made as soon as it is wanted?
    pub prompt: bool,
    pub calm: Arc<Calm>,
}

impl Configuration {
    fn may(&self, befalls: Befalls) -> bool {
        self.befalls.contains(&befalls)
    }

    fn faults(&self, state: &State, actions: &mut Vec<Action>) {
        if state.faults == 0 {
            return;
        }
        let mut befall = |fault| actions.push(Action::Befall(fault));
        for (which, controller) in state.controllers.iter().enumerate() {
            if self.may(Befalls::Crash) {
                befall(Fault::Crash(which));
            }
            if self.may(Befalls::Relist) && !controller.pending.is_empty() {
                befall(Fault::Relist(which));
            }
            if self.may(Befalls::LookBack) && state.leads(which) && controller.state.inventory_due {
                for of in 1..=state.past.len() {
                    befall(Fault::LookBack(which, of));
                }
            }
            for (ip, request) in &controller.requests {
                let call = matches!(request.sent.step, Step::Call(_));
                if self.may(Befalls::TimeOut) || call && self.may(Befalls::CallTimesOut) {
                    befall(Fault::TimeOut(which, ip.clone()));
                }
                // What is guarded by a version does nothing the second time.
                if self.may(Befalls::Twice) && call && request.answer.is_some() {
                    befall(Fault::Twice(which, ip.clone()));
                }
            }
        }
        if self.may(Befalls::Slow) && !state.at_rest() {
            befall(Fault::Slow);
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
            if event.is_some_and(|event| event.may_happen(&state.kube)) {
                actions.push(Action::Happen(track));
            }
        }
        let mut rests = true;
        for (which, controller) in state.controllers.iter().enumerate() {
            let mut busy = Vec::new();
            let heard = controller
                .pending
                .keys()
                .filter(|kind| !controller.answer_follows(**kind));
            busy.extend(heard.map(|kind| Action::Hear(which, *kind)));
            for (ip, request) in &controller.requests {
                busy.push(match request.answer {
                    None => Action::Execute(which, ip.clone()),
                    Some(_) => Action::Answer(which, ip.clone()),
                });
            }
            let leads = state.leads(which);
            let ips: BTreeSet<&IpName> = controller.facts().ip_names().collect();
            for ip in ips.into_iter().filter(|_| leads) {
                if controller.next_step(ip).is_some() {
                    busy.push(Action::Begin(which, ip.clone()));
                }
            }
            if controller.inventory().is_some() {
                busy.push(Action::Looked(which));
            } else if leads && controller.state.inventory_due {
                busy.push(Action::Look(which));
            }
            rests &= busy.is_empty();
            actions.extend(busy);
        }
        if rests && state.waits < self.waits {
            actions.push(Action::Wait);
        }
        actions.extend(state.late.iter().cloned().map(Action::Land));
        self.faults(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.mark = None;
        match action {
            Action::Happen(track) => {
                let event = &self.tracks[track][state.at[track]];
                state.at[track] += 1;
                state.happen(event);
            }
            Action::Hear(which, kind) => state.receive(which, kind),
            Action::Begin(which, ip) => state.begin(&self.cast, which, &ip),
            Action::Execute(which, ip) => state.execute(&self.cast, which, &ip),
            Action::Answer(which, ip) => state.answer(which, &ip),
            Action::Look(which) => {
                state.take_inventory(which, 0);
                if self.prompt {
                    state.receive_inventory(which);
                }
            }
            Action::Looked(which) => state.receive_inventory(which),
            Action::Wait => {
                state.pass_until_due();
                state.waits += 1;
            }
            Action::Land(late) => state.land(&self.cast, &late),
            Action::Befall(fault) => {
                state.spend();
                match fault {
                    Fault::Crash(which) => state.crash(which),
                    Fault::TimeOut(which, ip) => state.time_out(which, &ip),
                    Fault::Twice(which, ip) => state.twice(which, &ip),
                    Fault::LookBack(which, of) => {
                        // Counted before the last fault made the past forgotten.
                        state.past.clone_from(&last.past);
                        state.take_inventory(which, of);
                        if state.faults == 0 {
                            state.past.clear();
                        }
                    }
                    Fault::Relist(which) => state.relist(which),
                    Fault::Slow => state.pass(SLOW),
                }
            }
        }
        if self.prompt {
            state.read_what_is_wanted(&self.cast);
        }
        state.forget_in_vain();
        if state.controllers.len() > 1 {
            state.arrange();
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn keeps<const RULE: usize>(_: &Configuration, state: &State) -> bool {
            let broken = state.broken.as_ref();
            broken.is_none_or(|broken| broken.rule != Rule::ALL[RULE])
        }
        fn reached<const MARK: usize>(model: &Configuration, state: &State) -> bool {
            state.mark.is_some() && state.mark == model.reaches.get(MARK).copied()
        }
        let rules: [fn(&Self, &State) -> bool; 6] = [
            keeps::<0>, keeps::<1>, keeps::<2>, keeps::<3>, keeps::<4>, keeps::<5>,
        ];
        let marks: [fn(&Self, &State) -> bool; 5] = [
            reached::<0>,
            reached::<1>,
            reached::<2>,
            reached::<3>,
            reached::<4>,
        ];
        assert!(
            self.reaches.len() <= marks.len(),
            "more marks than properties"
        );
        let always = Rule::ALL.iter().zip(rules);
        let always = always.map(|(rule, keeps)| Property::always(rule.name(), keeps));
        let settles = Property::always(SETTLES, |model: &Self, state: &State| {
            state.broken.is_some() || model.calm.settles(&model.cast, state).is_ok()
        });
        let sometimes = self.reaches.iter().zip(marks);
        let sometimes = sometimes.map(|(mark, reached)| Property::sometimes(mark.name(), reached));
        always.chain([settles]).chain(sometimes).collect()
    }
}
