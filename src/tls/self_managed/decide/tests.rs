//! Tests of the next step for the certificate.

use std::time::Duration;

use super::{CertificateState, CertificateStep, Lifetimes, next};

const MINUTE: i64 = 60 * 1000;
const DAY: i64 = 24 * 60 * MINUTE;
/// When the renewal of a certificate with a lifetime of seven days is due.
const DUE: i64 = 14 * DAY / 3;

fn lifetimes() -> Lifetimes {
    Lifetimes {
        certificate: Duration::from_hours(7 * 24),
        settling: Duration::from_mins(1),
        overlap: Duration::from_mins(10),
    }
}

fn at_rest() -> CertificateState {
    CertificateState {
        ends: 7 * DAY,
        fits: true,
        next_fits: None,
        published: Some(0),
        others: false,
        serves_other: false,
    }
}

#[track_caller]
fn expect(known: &CertificateState, now: i64, step: CertificateStep) {
    assert_eq!(next(known, &lifetimes(), now), step, "{known:?} at {now}");
}

#[test]
fn the_next_certificate_is_made_after_two_thirds_of_the_lifetime() {
    expect(&at_rest(), DUE - 1, CertificateStep::Serve);
    expect(&at_rest(), DUE, CertificateStep::Prepare);
}

#[test]
fn a_certificate_that_is_not_accepted_is_replaced_at_once() {
    for published in [None, Some(0)] {
        let mut known = CertificateState {
            fits: false,
            published,
            ..at_rest()
        };
        expect(&known, 1, CertificateStep::Replace);
        known.next_fits = Some(false);
        expect(&known, 1, CertificateStep::Replace);
        known.next_fits = Some(true);
        expect(&known, 1, CertificateStep::Switch);
    }
}

#[test]
fn only_published_certificates_are_served() {
    for (serves_other, next_fits) in [(false, None), (true, None), (false, Some(true))] {
        let known = CertificateState {
            published: None,
            serves_other,
            next_fits,
            ..at_rest()
        };
        expect(&known, 1, CertificateStep::Publish);
        expect(&known, DUE, CertificateStep::Publish);
    }
}

#[test]
fn old_and_next_certificate_are_published_together_for_a_while() {
    let mut known = at_rest();
    expect(&known, DUE, CertificateStep::Prepare);
    known.next_fits = Some(true);
    known.published = None;
    expect(&known, DUE, CertificateStep::Publish);
    known.published = Some(DUE + 5);
    expect(&known, DUE + 4 + MINUTE, CertificateStep::Serve);
    expect(&known, DUE + 5 + MINUTE, CertificateStep::Switch);
    let switched = DUE + 5 + MINUTE;
    known = CertificateState {
        ends: DUE + 7 * DAY,
        published: Some(switched),
        others: true,
        serves_other: true,
        ..at_rest()
    };
    expect(&known, switched + MINUTE - 1, CertificateStep::Wait);
    expect(&known, switched + MINUTE, CertificateStep::Serve);
    known.serves_other = false;
    expect(&known, switched + 10 * MINUTE, CertificateStep::Serve);
    expect(&known, switched + 10 * MINUTE + 1, CertificateStep::Prune);
}

#[test]
fn a_next_certificate_that_is_not_accepted_is_replaced() {
    let known = CertificateState {
        next_fits: Some(false),
        ..at_rest()
    };
    expect(&known, 1, CertificateStep::Prepare);
}

#[test]
fn a_trusted_certificate_is_served_until_the_one_in_the_secret_is_published() {
    let mut known = CertificateState {
        published: Some(5),
        others: true,
        serves_other: true,
        ..at_rest()
    };
    expect(&known, 4 + MINUTE, CertificateStep::Wait);
    expect(&known, 5 + MINUTE, CertificateStep::Serve);
    known.serves_other = false;
    expect(&known, 5, CertificateStep::Serve);
}

#[test]
fn no_certificate_that_a_late_replica_can_serve_is_removed() {
    let now = DAY;
    let mut known = CertificateState {
        others: true,
        published: Some(now - 10 * MINUTE),
        serves_other: true,
        ..at_rest()
    };
    expect(&known, now + 1, CertificateStep::Serve);
    known.serves_other = false;
    expect(&known, now, CertificateStep::Serve);
    expect(&known, now + 1, CertificateStep::Prune);
    known.next_fits = Some(true);
    expect(&known, now + 1, CertificateStep::Switch);
}

/// A simulated Secret: the validity period of each pair.
#[derive(Clone, Copy, Debug)]
struct Stored {
    pair: (i64, i64),
    next: Option<(i64, i64)>,
    published: Option<i64>,
    others: bool,
}

impl Stored {
    fn fits((begins, ends): (i64, i64), now: i64) -> bool {
        begins <= now && now + super::millis(lifetimes().settling) < ends
    }

    fn known(&self, now: i64) -> CertificateState {
        CertificateState {
            ends: self.pair.1,
            fits: Self::fits(self.pair, now),
            next_fits: self.next.map(|next| Self::fits(next, now)),
            published: self.published,
            others: self.others,
            serves_other: false,
        }
    }

    fn after(self, step: CertificateStep, now: i64) -> Self {
        let made = (now - DAY, now + super::millis(lifetimes().certificate));
        let published =
            Some(now).filter(|_| matches!(step, CertificateStep::Publish | CertificateStep::Prune));
        match step {
            CertificateStep::Replace => Self {
                pair: made,
                next: None,
                published,
                others: true,
            },
            CertificateStep::Prepare => Self {
                next: Some(made),
                published,
                ..self
            },
            CertificateStep::Switch => Self {
                pair: self.next.unwrap(),
                next: None,
                published: self.published.map(|_| now),
                others: true,
            },
            CertificateStep::Publish => Self { published, ..self },
            CertificateStep::Prune => Self {
                published,
                others: false,
                ..self
            },
            CertificateStep::Serve | CertificateStep::Wait => self,
        }
    }
}

/// Every Secret that replicas can leave behind if they are stopped at any moment and for any time.
fn left_behind(now: i64) -> Vec<Stored> {
    let pairs = [-8, -1, 0, 1, 3, 6].map(|left| now + left * DAY);
    let mut pairs: Vec<_> = pairs.iter().map(|ends| (ends - 8 * DAY, *ends)).collect();
    // It expires during the settling time of another one, or a clock was or is wrong by some days.
    pairs.extend([(now - DAY, now + 5), (now + 2 * DAY, now + 10 * DAY)]);
    let mut left = Vec::new();
    for pair in &pairs {
        for next in pairs.iter().copied().map(Some).chain([None]) {
            for published in [None, Some(now - 5), Some(now - 20 * MINUTE)] {
                left.extend([true, false].map(|others| Stored {
                    pair: *pair,
                    next,
                    published,
                    others,
                }));
            }
        }
    }
    left
}

#[test]
fn any_state_leads_to_an_accepted_certificate_in_a_few_steps() {
    let now = 1000 * DAY;
    for left in left_behind(now) {
        let mut stored = left;
        let mut steps = Vec::new();
        while steps.last() != Some(&CertificateStep::Serve) {
            let step = next(&stored.known(now), &lifetimes(), now);
            steps.push(step);
            assert!(steps.len() < super::super::STEPS, "{left:?}: {steps:?}");
            stored = stored.after(step, now);
        }
        assert!(Stored::fits(stored.pair, now), "{left:?}: {steps:?}");
    }
}
