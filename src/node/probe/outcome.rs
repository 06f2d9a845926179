//! What attempts mean: a pure function of the attempts so far.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::order::Subject;

/// How many attempts in a row have to fail before it is said.
const FAILURES: u32 = 3;

/// What one attempt found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The target answered.
    Answer {
        /// The source address that it saw.
        observed: Ipv4Addr,
        /// The round trip, in milliseconds.
        round_trip: u64,
    },
    /// It did not answer, or not with an address.
    Failed {
        /// Why, and what to do next.
        message: String,
        /// Whether every attempt fails until a route or the target is changed.
        lasting: bool,
    },
}

/// What is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The source address that the target saw. None: it did not say.
    pub observed: Option<Ipv4Addr>,
    /// The round trip of the attempt that led to this outcome, in milliseconds.
    pub round_trip: Option<u64>,
    /// Why the address is not verified, and what to do next. Empty if it is.
    pub message: String,
}

/// What is said, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What was probed.
    pub subject: Subject,
    /// What came of it.
    pub outcome: Outcome,
}

/// What is said about each IP, by name.
pub type Outcomes = BTreeMap<String, Found>;

impl Outcome {
    fn of(subject: &Subject, attempt: &Attempt) -> Self {
        let Subject {
            address, target, ..
        } = subject;
        match attempt {
            Attempt::Answer {
                observed,
                round_trip,
            } => Self {
                observed: Some(*observed),
                round_trip: Some(*round_trip),
                message: if observed == address {
                    String::new()
                } else {
                    format!(
                        "{target} sees {observed} instead of {address}: find what translates the source on the way, \
                         such as a NAT gateway in the route table of the subnet or a firewall of the partner"
                    )
                },
            },
            Attempt::Failed { message, .. } => Self {
                message: message.clone(),
                ..Self::default()
            },
        }
    }

    /// Whether the target sees the address.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.observed.is_some() && self.message.is_empty()
    }

    /// Whether both say the same; the round trip differs each time.
    fn says_as(&self, other: &Self) -> bool {
        (self.observed, &self.message) == (other.observed, &other.message)
    }
}

/// How far the probe of one subject is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    outcome: Option<Outcome>,
    /// How many attempts in a row did not see the address.
    failures: u32,
    latest: Option<Outcome>,
    /// How many attempts in a row found the same as the latest.
    repeated: u32,
}

impl Progress {
    /// What is said now. None: nothing is known yet.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The progress after one more attempt.
    ///
    /// An address that is seen is said at once, and so is another address, and what does not go away by itself. What
    /// can be a packet that was lost is said when it happened three times in a row. While nothing is well, what is said
    /// changes only when another thing was found three times in a row, so that it does not change with each attempt.
    #[must_use]
    pub fn after(&self, subject: &Subject, attempt: &Attempt) -> Self {
        let found = Outcome::of(subject, attempt);
        let again = self.latest.as_ref().is_some_and(|it| it.says_as(&found));
        let repeated = if again {
            self.repeated.saturating_add(1)
        } else {
            1
        };
        let failures = if found.is_verified() {
            0
        } else {
            self.failures.saturating_add(1)
        };
        let lasts = match attempt {
            Attempt::Answer { .. } => true,
            Attempt::Failed { lasting, .. } => *lasting,
        };
        let turns = match &self.outcome {
            Some(present) if present.says_as(&found) => false,
            _ if found.is_verified() => true,
            Some(present) if !present.is_verified() => {
                let first_answer = present.observed.is_none() && found.observed.is_some();
                first_answer || repeated >= FAILURES
            }
            _ => lasts || failures >= FAILURES,
        };
        Self {
            outcome: if turns {
                Some(found.clone())
            } else {
                self.outcome.clone()
            },
            failures,
            latest: Some(found),
            repeated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);
    const OTHER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const THIRD: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    fn sees(observed: Ipv4Addr) -> Attempt {
        Attempt::Answer {
            observed,
            round_trip: 3,
        }
    }

    fn fails(message: &str) -> Attempt {
        Attempt::Failed {
            message: message.to_owned(),
            lasting: false,
        }
    }

    /// What is said after each of the attempts: the address that was seen, or the reason.
    fn said(attempts: &[Attempt]) -> Vec<String> {
        let subject = Subject {
            address: ADDRESS,
            pod: "uid".to_owned(),
            claim: "7".to_owned(),
            target: "198.51.100.7:7000".to_owned(),
        };
        let mut progress = Progress::default();
        let mut said = Vec::new();
        for attempt in attempts {
            progress = progress.after(&subject, attempt);
            said.push(match progress.outcome() {
                None => "nothing".to_owned(),
                Some(outcome) if outcome.is_verified() => "verified".to_owned(),
                Some(Outcome {
                    observed: Some(address),
                    ..
                }) => address.to_string(),
                Some(outcome) => outcome.message.clone(),
            });
        }
        said
    }

    #[test]
    fn an_answer_is_said_at_once_and_a_failure_when_it_came_three_times_in_a_row() {
        let lost = || fails("silent");
        let attempts = [sees(ADDRESS), lost(), lost(), sees(ADDRESS), lost(), lost()];
        assert_eq!(said(&attempts), ["verified"; 6]);
        let attempts = [sees(ADDRESS), lost(), fails("refused"), lost()];
        assert_eq!(
            said(&attempts),
            ["verified", "verified", "verified", "silent"]
        );
        assert_eq!(
            said(&[lost(), lost(), lost(), sees(ADDRESS)]),
            ["nothing", "nothing", "silent", "verified"]
        );
        assert_eq!(
            said(&[sees(ADDRESS), sees(OTHER), sees(ADDRESS)]),
            ["verified", "192.0.2.1", "verified"]
        );
    }

    #[test]
    fn an_outcome_that_no_later_attempt_changes_is_reported_at_once() {
        let lasting = Attempt::Failed {
            message: "in no route".to_owned(),
            lasting: true,
        };
        assert_eq!(
            said(&[lasting.clone(), sees(ADDRESS), lasting]),
            ["in no route", "verified", "in no route"]
        );
    }

    #[test]
    fn while_nothing_is_well_what_is_said_does_not_change_with_each_attempt() {
        let mut attempts = vec![fails("silent"); 3];
        attempts.extend([fails("refused"), fails("silent"), fails("refused")]);
        assert_eq!(said(&attempts)[2..], ["silent"; 4]);
        attempts.extend(vec![fails("refused"); 2]);
        assert_eq!(said(&attempts).last().unwrap(), "refused");
        // The first answer is news.
        attempts.push(sees(OTHER));
        assert_eq!(said(&attempts).last().unwrap(), "192.0.2.1");
        attempts.extend([sees(THIRD), sees(OTHER), sees(THIRD)]);
        assert_eq!(said(&attempts).last().unwrap(), "192.0.2.1");
        attempts.extend(vec![sees(THIRD); 2]);
        assert_eq!(said(&attempts).last().unwrap(), "192.0.2.2");
    }

    #[test]
    fn the_round_trip_is_that_of_the_attempt_that_led_to_the_outcome() {
        let subject = Subject {
            address: ADDRESS,
            pod: String::new(),
            claim: String::new(),
            target: String::new(),
        };
        let answer = |round_trip| Attempt::Answer {
            observed: ADDRESS,
            round_trip,
        };
        let first = Progress::default().after(&subject, &answer(3));
        let second = first.after(&subject, &answer(8));
        assert_eq!(second.outcome(), first.outcome());
        assert_eq!(second.outcome().unwrap().round_trip, Some(3));
    }
}
