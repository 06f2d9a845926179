//! What has to be done next for the certificate, from what is known: pure, so that every order of events can
//! be tried.

use std::time::Duration;

/// How long things last. All follow from flags; a test has them short.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Of the webhook's certificate.
    pub leaf: Duration,
    /// Of the CA that signs it.
    pub authority: Duration,
    /// A new CA signs nothing before it has been published for so long: an API server sees it late.
    pub settling: Duration,
    /// The CA before is published for so long after nothing new is signed by it: a replica reads late.
    pub overlap: Duration,
}

/// What is known of the certificate. Times are milliseconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// When the newest CA ends.
    pub authority_ends: i64,
    /// How many CAs are kept: more than one during a rotation.
    pub authorities: usize,
    /// When the leaf was made and when it ends.
    pub leaf: (i64, i64),
    /// The newest CA has signed it.
    pub by_newest: bool,
    /// It is good for every name that the API server dials.
    pub names_fit: bool,
    /// Every webhook's `caBundle` is what is kept, and since when this process has seen it so.
    pub published: Option<i64>,
    /// Another leaf is served, and it is believed by what is published.
    pub other_served: bool,
}

/// One thing to do; each is durable before the next is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Write the kept CAs into every `caBundle`.
    Publish,
    /// Make another CA, which signs nothing yet.
    Rotate,
    /// Have the newest CA sign another leaf.
    Renew,
    /// Drop the CAs that have signed nothing that is served.
    Forget,
    /// Serve the leaf, and look again later.
    Serve,
    /// Go on serving what is served, and look again later.
    Rest,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What to do next. What was served before goes on being served until `Serve`.
pub(super) fn next(known: &Known, lifetimes: &Lifetimes, now: i64) -> Step {
    let Some(published) = known.published else {
        return Step::Publish;
    };
    let third = |life: Duration| millis(life) / 3;
    let authority_left = known.authority_ends - now;
    let (made, ends) = known.leaf;
    let leaf_due = ends - now <= third(lifetimes.leaf) || !known.names_fit || !known.by_newest;
    if authority_left <= third(lifetimes.authority) && known.authorities == 1 {
        // What is served while a new CA settles has to outlast that: a leaf is renewed first, where the CA
        // that goes lasts long enough to sign one that is not due again at once.
        return if leaf_due && authority_left > third(lifetimes.leaf) {
            Step::Renew
        } else {
            Step::Rotate
        };
    }
    // Nobody takes a leaf that has ended: then there is nothing to wait for.
    let settled =
        known.authorities == 1 || now >= ends || now - published >= millis(lifetimes.settling);
    if leaf_due && settled {
        return Step::Renew;
    }
    if known.authorities > 1 && known.by_newest && now - made > millis(lifetimes.overlap) {
        return Step::Forget;
    }
    // The CA may have been made just now, in place of one that was lost.
    if known.other_served && now - published < millis(lifetimes.settling) {
        return Step::Rest;
    }
    Step::Serve
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Known, Lifetimes, Step, next};

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
            authority_ends: 365 * DAY,
            authorities: 1,
            leaf: (0, 7 * DAY),
            by_newest: true,
            names_fit: true,
            published: Some(0),
            other_served: false,
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
        known.authority_ends = due + 365 * DAY;
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
        expect(&known, due + 5 + MINUTE + 1 + 10 * MINUTE, Step::Forget);
    }

    #[test]
    fn a_leaf_that_is_due_with_its_ca_is_renewed_before_another_ca_has_to_settle() {
        let due = 365 * DAY * 2 / 3;
        let mut known = Known {
            leaf: (due - 7 * DAY + 1000, due + 1000),
            ..at_rest()
        };
        expect(&known, due, Step::Renew);
        known.leaf = (due, due + 7 * DAY);
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
    fn what_is_believed_is_served_until_a_ca_that_was_made_anew_has_been_published_for_a_while() {
        let mut known = Known {
            published: Some(5),
            authorities: 2,
            other_served: true,
            ..at_rest()
        };
        expect(&known, 4 + MINUTE, Step::Rest);
        expect(&known, 5 + MINUTE, Step::Serve);
        known.other_served = false;
        expect(&known, 5, Step::Serve);
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
}
