use crate::world::world;

#[test]
fn the_same_assign_succeeds_again_with_the_same_answer_and_the_same_state() {
    let mut world = world();
    let a = world.loose();
    let first = world.assign(a, &["203.0.113.50", "203.0.113.51"]).unwrap();
    let before = world.ec2.clone();
    let second = world.assign(a, &["203.0.113.50", "203.0.113.51"]).unwrap();
    assert_eq!(first, second);
    assert_eq!(world.ec2, before);
    world.reassign(a, &["203.0.113.51"]).unwrap();
    assert_eq!(world.ec2, before);
}
