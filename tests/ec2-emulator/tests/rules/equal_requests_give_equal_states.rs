//! The properties that a model checker relies on: no clock, no randomness, and a refusal changes nothing.

use ec2_emulator::state::Ec2;
use ec2_emulator::state::request::Request;

use crate::world::world;

#[test]
fn two_equal_runs_end_in_equal_states() {
    let story = || {
        let mut world = world();
        let (a, b) = (world.loose(), world.loose());
        world.assign(a, &["203.0.113.50"]).unwrap();
        world.reassign(b, &["203.0.113.50"]).unwrap();
        world.assign(a, &["203.0.113.50"]).unwrap_err();
        world.ec2
    };
    assert_eq!(story(), story());
}

#[test]
fn a_move_there_and_back_restores_the_state() {
    let mut world = world();
    let (a, b) = (world.loose(), world.loose());
    world.assign(a, &["203.0.113.50"]).unwrap();
    let before = world.ec2.clone();
    world.reassign(b, &["203.0.113.50"]).unwrap();
    world.reassign(a, &["203.0.113.50"]).unwrap();
    assert_eq!(world.ec2, before);
}

#[test]
fn the_state_can_be_used_by_a_model_checker() {
    fn holds<T: Clone + Eq + Ord + std::hash::Hash + std::fmt::Debug + Send + Sync>() {}
    holds::<Ec2>();
    holds::<Request>();
}
