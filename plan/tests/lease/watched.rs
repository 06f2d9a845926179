//! The effect of a watch of the `Lease`, in addition to reads.
//! Rule: R6.14.

use mooring_plan::lease::{LeaseAnswer, LeaseStep};
use mooring_plan::time::Instant;

use super::{Replica, Server, run};

/// Two replicas after 20.1 s; the first one leads.
fn led() -> (Server, Replica, Replica) {
    let mut server = Server::default();
    let mut replicas = [Replica::new("a", 0), Replica::new("b", 0)];
    run(&mut replicas, &mut server, 0, 20_100);
    let [leader, standby] = replicas;
    assert!(leader.leads(20_000));
    (server, leader, standby)
}

fn show(server: &Server, replica: &mut Replica, real: u64) -> bool {
    let now = replica.clock(real);
    let shown = server.lease.clone().unwrap();
    replica.election.observe(shown, now)
}

#[test]
fn a_release_is_noticed_immediately() {
    let (mut server, leader, mut standby) = led();
    let release = leader.release(20_100);
    assert!(matches!(server.carry_out(&release), LeaseAnswer::Wrote(_)));
    // Between two reads.
    assert!(matches!(
        standby.election.step(Instant::from_millis(20_100)),
        LeaseStep::Wait(_)
    ));
    assert!(show(&server, &mut standby, 20_100));
    standby.turn(&mut server, 20_100);
    assert!(standby.leads(20_100));
}

#[test]
fn a_lease_is_taken_at_its_expiry_not_at_the_next_poll() {
    let (mut server, mut leader, mut standby) = led();
    let mut real = 20_100;
    while !show(&server, &mut standby, real) {
        real += 100;
        leader.turn(&mut server, real);
    }
    // The leader is gone. The standby can read meanwhile, but no read shows a change.
    let renewed = real;
    while !standby.leads(real) {
        real += 1;
        standby.turn(&mut server, real);
        assert!(real <= renewed + 15_000, "too late");
    }
    assert_eq!(real, renewed + 15_000);
}

#[test]
fn while_the_watch_shows_renewals_nothing_is_read() {
    let (mut server, mut leader, mut standby) = led();
    for real in (20_100..60_000).step_by(100) {
        leader.turn(&mut server, real);
        // The watch shows a renewal shortly after the next read would be due.
        if real % 1_000 == 300 {
            show(&server, &mut standby, real);
        }
        if real > 23_000 {
            let step = standby.election.step(standby.clock(real));
            assert!(matches!(step, LeaseStep::Wait(_)), "{step:?} at {real}");
        }
    }
}

#[test]
fn a_late_watch_event_reverts_nothing() {
    let (mut server, mut leader, mut standby) = led();
    let old = server.lease.clone().unwrap();
    let release = leader.release(20_100);
    server.carry_out(&release);
    show(&server, &mut standby, 20_100);
    standby.turn(&mut server, 20_100);
    assert!(!standby.election.observe(old, Instant::from_millis(20_100)));
    assert!(standby.leads(20_100));
    // The former leader gets it from the watch, without a read.
    assert!(show(&server, &mut leader, 20_100));
    assert!(!leader.leads(20_100));
}
