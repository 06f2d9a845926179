//! What has to be done next for the certificate.

use std::time::Duration;

use super::{Known, Lifetimes, Serving, Step, next};

const MINUTE: i64 = 60 * 1000;
const DAY: i64 = 24 * 60 * MINUTE;

fn lifetimes() -> Lifetimes {
    Lifetimes {
        leaf: Duration::from_hours(7 * 24),
        authority: Duration::from_hours(365 * 24),
        settling: Duration::from_mins(1),
        overlap: Duration::from_mins(10),
    }
}

fn at_rest() -> Known {
    Known {
        authority: (-DAY, 365 * DAY),
        authorities: 1,
        leaf: (0, 7 * DAY),
        by_newest: true,
        names_fit: true,
        published: Some(0),
        served: Serving::Stored,
    }
}

#[track_caller]
fn expect(known: &Known, now: i64, step: Step) {
    assert_eq!(next(known, &lifetimes(), now), step, "{known:?} at {now}");
}

#[test]
fn the_leaf_is_renewed_at_two_thirds_of_its_life() {
    let known = at_rest();
    let two_thirds = 14 * DAY / 3;
    expect(&known, two_thirds - 1, Step::Serve);
    expect(&known, two_thirds, Step::Renew);
}

#[test]
fn another_name_is_reason_for_another_leaf() {
    let known = Known {
        names_fit: false,
        ..at_rest()
    };
    expect(&known, 1, Step::Renew);
}

#[test]
fn nothing_is_served_that_is_not_published() {
    for by_newest in [true, false] {
        let known = Known {
            published: None,
            by_newest,
            ..at_rest()
        };
        expect(&known, 1, Step::Publish);
    }
}

#[test]
fn a_new_ca_is_published_for_a_while_before_it_signs_and_the_old_one_stays_for_a_while_after() {
    let due = 365 * DAY * 2 / 3;
    let mut known = Known {
        leaf: (due - 1, due - 1 + 7 * DAY),
        ..at_rest()
    };
    expect(&known, due - 1, Step::Serve);
    expect(&known, due, Step::Rotate);
    known.authority = (due - DAY, due + 365 * DAY);
    known.authorities = 2;
    known.by_newest = false;
    known.published = None;
    expect(&known, due, Step::Publish);
    known.published = Some(due + 5);
    expect(&known, due + 4 + MINUTE, Step::Serve);
    expect(&known, due + 5 + MINUTE, Step::Renew);
    known.leaf = (due + 5 + MINUTE, due + 5 + MINUTE + 7 * DAY);
    known.by_newest = true;
    expect(&known, due + 5 + MINUTE + 10 * MINUTE, Step::Serve);
    expect(&known, due + 5 + MINUTE + 1 + 10 * MINUTE, Step::PruneCa);
}

#[test]
fn a_leaf_that_is_due_with_its_ca_is_renewed_and_served_before_another_ca_has_to_settle() {
    let due = 365 * DAY * 2 / 3;
    let mut known = Known {
        leaf: (due - 7 * DAY + 1000, due + 1000),
        ..at_rest()
    };
    expect(&known, due, Step::Renew);
    known.leaf = (due, due + 7 * DAY);
    // What was made has to be served as well: what is served still ends soon.
    known.served = Serving::Other;
    expect(&known, due, Step::Serve);
    known.served = Serving::Stored;
    expect(&known, due, Step::Rotate);
}

#[test]
fn a_ca_that_ends_itself_signs_no_more() {
    let late = 365 * DAY - 7 * DAY / 3;
    let known = Known {
        leaf: (late - 7 * DAY, late + 1),
        ..at_rest()
    };
    expect(&known, late - 1, Step::Renew);
    expect(&known, late, Step::Rotate);
}

#[test]
fn a_leaf_that_has_ended_does_not_wait_for_the_new_ca_to_settle() {
    let known = Known {
        authorities: 2,
        by_newest: false,
        leaf: (0, 7 * DAY),
        published: Some(7 * DAY - 5),
        ..at_rest()
    };
    expect(&known, 7 * DAY - 1, Step::Serve);
    expect(&known, 7 * DAY, Step::Renew);
}

#[test]
fn a_trusted_certificate_is_served_until_a_new_ca_has_been_published_for_a_while() {
    let mut known = Known {
        published: Some(5),
        authorities: 2,
        served: Serving::Other,
        ..at_rest()
    };
    expect(&known, 4 + MINUTE, Step::Wait);
    expect(&known, 5 + MINUTE, Step::Serve);
    known.served = Serving::Stored;
    expect(&known, 5, Step::Serve);
}

#[test]
fn a_ca_is_removed_only_when_this_process_has_seen_the_overlap_and_serves_nothing_by_it() {
    let now = DAY;
    let mut known = Known {
        authorities: 2,
        leaf: (0, 7 * DAY),
        published: Some(now - 10 * MINUTE),
        served: Serving::Other,
        ..at_rest()
    };
    expect(&known, now, Step::Serve);
    expect(&known, now + 1, Step::Serve);
    known.served = Serving::Stored;
    expect(&known, now, Step::Serve);
    expect(&known, now + 1, Step::PruneCa);
}

#[test]
fn the_ca_of_what_is_served_is_kept_whatever_is_put_into_the_secret() {
    for published in [None, Some(0)] {
        let known = Known {
            published,
            served: Serving::Orphan,
            ..at_rest()
        };
        expect(&known, 1, Step::AdoptCa);
    }
}

#[test]
fn the_first_ca_signs_at_once() {
    let known = Known {
        names_fit: false,
        published: Some(100),
        ..at_rest()
    };
    expect(&known, 100, Step::Renew);
}

/// A Secret as steps change it: CAs, the newest first, each from when until when, and the leaf.
#[derive(Clone, Debug)]
struct StoredSecret {
    authorities: Vec<(i64, i64)>,
    leaf: (i64, i64),
    signer: (i64, i64),
    published: Option<i64>,
}

impl StoredSecret {
    fn lives((begins, ends): (i64, i64), now: i64) -> bool {
        begins <= now && now < ends
    }

    fn known(&self, now: i64) -> Known {
        let good = Self::lives(self.leaf, now) && Self::lives(self.signer, now);
        Known {
            authority: self.authorities[0],
            authorities: self.authorities.len(),
            leaf: (self.leaf.0 + DAY, self.leaf.1),
            by_newest: good && self.signer == self.authorities[0],
            names_fit: good && self.authorities.contains(&self.signer),
            published: self.published,
            served: Serving::Stored,
        }
    }

    fn after(mut self, step: Step, now: i64) -> Self {
        let lasting = |life: Duration| (now - DAY, now + super::millis(life));
        match step {
            Step::Publish => self.published = Some(now),
            Step::Rotate => {
                self.authorities.insert(0, lasting(lifetimes().authority));
                self.published = None;
            }
            Step::Renew => {
                self.signer = self.authorities[0];
                let (begins, ends) = lasting(lifetimes().leaf);
                self.leaf = (begins, ends.min(self.signer.1));
            }
            Step::PruneCa => {
                self.authorities.truncate(1);
                self.published = None;
            }
            Step::AdoptCa | Step::Serve | Step::Wait => {}
        }
        self
    }
}

/// Every Secret that replicas, stopped at any moment and for any time, can have left behind.
fn left_behind(now: i64) -> Vec<StoredSecret> {
    let authorities = [-300, -1, 1, 2, 4, 100, 200, 364].map(|left| now + left * DAY);
    let authorities = authorities.map(|ends| (ends - 366 * DAY, ends));
    // The clock was, or is, wrong by some days.
    let authorities = [&authorities[..], &[(now + 2 * DAY, now + 368 * DAY)]].concat();
    let mut left = Vec::new();
    for newest in &authorities {
        for before in authorities.iter().map(Some).chain([None]) {
            let signers = [Some(newest), before];
            for (signer, ends) in signers
                .into_iter()
                .flatten()
                .flat_map(|signer| [-8, -1, 1, 3, 6].map(|left| (*signer, now + left * DAY)))
            {
                let leaf = (ends - 8 * DAY, ends.min(signer.1));
                for published in [None, Some(now - 5), Some(now - 2 * MINUTE)] {
                    left.push(StoredSecret {
                        authorities: [Some(newest), before]
                            .into_iter()
                            .flatten()
                            .copied()
                            .collect(),
                        leaf,
                        signer,
                        published,
                    });
                }
            }
        }
    }
    left
}

#[test]
fn whatever_was_left_behind_a_few_steps_lead_to_a_certificate_that_is_taken() {
    let begin = 1000 * DAY;
    for left in left_behind(begin) {
        // What was made by a clock that is ahead is nothing that has ended: another CA settles first.
        let ahead = left.authorities.iter().any(|it| it.0 > begin);
        let (mut kept, mut now) = (left.clone(), begin);
        let mut steps = Vec::new();
        while steps.last() != Some(&Step::Serve) || !kept.known(now).names_fit {
            if ahead && steps.last() == Some(&Step::Serve) {
                now = begin + MINUTE;
            }
            let step = next(&kept.known(now), &lifetimes(), now);
            steps.push(step);
            assert!(steps.len() < super::super::STEPS, "{left:?}: {steps:?}");
            kept = kept.after(step, now);
        }
    }
}
