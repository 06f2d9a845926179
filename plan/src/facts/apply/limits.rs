//! Limits of instance types: how many addresses an ENI can have, according to EC2.
//! Rules: R3.10, R3.11.
//!
//! EC2 refuses a whole request for several types if it does not know one of them. Then the types are split in halves
//! until the unknown type is alone.

use alloc::collections::BTreeSet;

use crate::backoff::{LIMITS, UNKNOWN_TYPES};
use crate::ec2::TYPES_AT_ONCE;
use crate::facts::{Affected, Facts, LimitUnanswered};
use crate::names::InstanceType;
use crate::outcome::Outcome;
use crate::time::Instant;

impl Facts {
    pub(super) fn limits_failed(
        &mut self,
        types: BTreeSet<InstanceType>,
        outcome: Outcome,
        now: Instant,
    ) -> Affected {
        let asked = types.len();
        let of_types = outcome == Outcome::Invalid;
        for kind in types {
            let before = self.limits_unanswered.get(&kind);
            let at_once = before.map_or(TYPES_AT_ONCE, |before| before.at_once);
            let unanswered = match asked {
                2.. if of_types => LimitUnanswered {
                    again: now,
                    at_once: asked.div_ceil(2),
                    outcome,
                },
                _ if of_types => LimitUnanswered {
                    again: now.plus(UNKNOWN_TYPES),
                    at_once: 1,
                    outcome,
                },
                _ => LimitUnanswered {
                    again: now.plus(LIMITS),
                    at_once,
                    outcome,
                },
            };
            self.limits_unanswered.insert(kind, unanswered);
        }
        Affected::Nothing
    }

    /// The types for the next request.
    pub(crate) fn limits_to_ask<'a>(
        &self,
        types: impl Iterator<Item = &'a InstanceType>,
        now: Instant,
    ) -> BTreeSet<InstanceType> {
        let unknown: BTreeSet<_> = types
            .filter(|kind| !self.limits.contains_key(*kind))
            .collect();
        let due = unknown.into_iter().filter_map(|kind| {
            let Some(unanswered) = self.limits_unanswered.get(kind) else {
                return Some((TYPES_AT_ONCE, kind));
            };
            (unanswered.again <= now).then_some((unanswered.at_once, kind))
        });
        let due: BTreeSet<(usize, &InstanceType)> = due.collect();
        let at_once = due.last().map_or(0, |(at_once, _)| *at_once);
        let together = due.into_iter().filter(|(of, _)| *of == at_once);
        together
            .take(at_once)
            .map(|(_, kind)| kind.clone())
            .collect()
    }

    /// EC2 denied the request for the limit of one of these types: how.
    pub(crate) fn limits_denied<'a>(
        &self,
        mut types: impl Iterator<Item = &'a InstanceType>,
    ) -> Option<Outcome> {
        types.find_map(|kind| {
            let unanswered = self.limits_unanswered.get(kind)?;
            Some(unanswered.outcome).filter(|outcome| outcome.is_denial())
        })
    }
}
