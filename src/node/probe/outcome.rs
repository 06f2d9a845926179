//! From attempts to an outcome: a pure function of the attempts so far.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::order::ProbedClaim;

/// Number of failed attempts in sequence before the failure is reported.
const FAILURES: u32 = 3;

/// The result of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The target answered.
    Answer {
        /// The source address that the target saw.
        observed: Ipv4Addr,
        /// The round trip, in milliseconds.
        round_trip: u64,
    },
    /// The target did not answer, or its answer was not an address.
    Failed {
        /// The cause, and what to do next.
        message: String,
        /// Whether all attempts fail until a route or the target is changed.
        lasting: bool,
    },
}

/// The reported result of the probe of one claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeResult {
    /// The source address that the target saw. None: there was no answer with an address.
    pub observed: Option<Ipv4Addr>,
    /// The round trip of the attempt that led to this outcome, in milliseconds.
    pub round_trip: Option<u64>,
    /// Why the address is not verified, and what to do next. Empty if it is verified.
    pub message: String,
}

/// An outcome with its claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectResult {
    /// The claim and the target that were probed.
    pub probed: ProbedClaim,
    /// The reported result.
    pub outcome: ProbeResult,
}

/// The outcomes, by the name of the IP.
pub type ProbeResults = BTreeMap<String, SubjectResult>;

impl ProbeResult {
    fn of(probed: &ProbedClaim, attempt: &Attempt) -> Self {
        let ProbedClaim {
            address, target, ..
        } = probed;
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

    /// Whether both report the same result. The round trip is ignored, because it differs each time.
    fn same_result(&self, other: &Self) -> bool {
        (self.observed, &self.message) == (other.observed, &other.message)
    }
}

/// The state of the probe of one claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeState {
    outcome: Option<ProbeResult>,
    /// Number of attempts in sequence in which the target did not see the address.
    failures: u32,
    latest: Option<ProbeResult>,
    /// Number of attempts in sequence with the same result as the latest one.
    repeated: u32,
}

impl ProbeState {
    /// The outcome that is reported now. None: there is no result yet.
    #[must_use]
    pub const fn outcome(&self) -> Option<&ProbeResult> {
        self.outcome.as_ref()
    }

    /// The progress after one more attempt.
    ///
    /// Three results are reported at once: the target sees the address, it sees another address, or the failure is
    /// lasting. A failure that one lost packet can cause is reported after three failed attempts in sequence. While the
    /// address is not verified, another failure is reported only after three equal results in sequence, so that the
    /// report does not change with each attempt.
    #[must_use]
    pub fn after(&self, probed: &ProbedClaim, attempt: &Attempt) -> Self {
        let found = ProbeResult::of(probed, attempt);
        let again = self
            .latest
            .as_ref()
            .is_some_and(|it| it.same_result(&found));
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
            Some(present) if present.same_result(&found) => false,
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

    /// The outcome after each attempt: the address that the target saw, or the message.
    fn reported(attempts: &[Attempt]) -> Vec<String> {
        let probed = ProbedClaim {
            address: ADDRESS,
            pod: "uid".to_owned(),
            claim: "7".to_owned(),
            target: "198.51.100.7:7000".to_owned(),
        };
        let mut progress = ProbeState::default();
        let mut reported = Vec::new();
        for attempt in attempts {
            progress = progress.after(&probed, attempt);
            reported.push(match progress.outcome() {
                None => "nothing".to_owned(),
                Some(outcome) if outcome.is_verified() => "verified".to_owned(),
                Some(ProbeResult {
                    observed: Some(address),
                    ..
                }) => address.to_string(),
                Some(outcome) => outcome.message.clone(),
            });
        }
        reported
    }

    #[test]
    fn an_answer_is_said_at_once_and_a_failure_when_it_came_three_times_in_a_row() {
        let lost = || fails("silent");
        let attempts = [sees(ADDRESS), lost(), lost(), sees(ADDRESS), lost(), lost()];
        assert_eq!(reported(&attempts), ["verified"; 6]);
        let attempts = [sees(ADDRESS), lost(), fails("refused"), lost()];
        assert_eq!(
            reported(&attempts),
            ["verified", "verified", "verified", "silent"]
        );
        assert_eq!(
            reported(&[lost(), lost(), lost(), sees(ADDRESS)]),
            ["nothing", "nothing", "silent", "verified"]
        );
        assert_eq!(
            reported(&[sees(ADDRESS), sees(OTHER), sees(ADDRESS)]),
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
            reported(&[lasting.clone(), sees(ADDRESS), lasting]),
            ["in no route", "verified", "in no route"]
        );
    }

    #[test]
    fn while_nothing_is_well_what_is_said_does_not_change_with_each_attempt() {
        let mut attempts = vec![fails("silent"); 3];
        attempts.extend([fails("refused"), fails("silent"), fails("refused")]);
        assert_eq!(reported(&attempts)[2..], ["silent"; 4]);
        attempts.extend(vec![fails("refused"); 2]);
        assert_eq!(reported(&attempts).last().unwrap(), "refused");
        // The first answer after failures is reported at once.
        attempts.push(sees(OTHER));
        assert_eq!(reported(&attempts).last().unwrap(), "192.0.2.1");
        attempts.extend([sees(THIRD), sees(OTHER), sees(THIRD)]);
        assert_eq!(reported(&attempts).last().unwrap(), "192.0.2.1");
        attempts.extend(vec![sees(THIRD); 2]);
        assert_eq!(reported(&attempts).last().unwrap(), "192.0.2.2");
    }

    #[test]
    fn the_round_trip_is_that_of_the_attempt_that_led_to_the_outcome() {
        let probed = ProbedClaim {
            address: ADDRESS,
            pod: String::new(),
            claim: String::new(),
            target: String::new(),
        };
        let answer = |round_trip| Attempt::Answer {
            observed: ADDRESS,
            round_trip,
        };
        let first = ProbeState::default().after(&probed, &answer(3));
        let second = first.after(&probed, &answer(8));
        assert_eq!(second.outcome(), first.outcome());
        assert_eq!(second.outcome().unwrap().round_trip, Some(3));
    }
}
