//! What a user was told: each thing once, while it stays true.

use std::collections::BTreeMap;

use mooring_plan::names::Millis;
use mooring_plan::step::{Notice, Regarding};

/// A thing that was not true for so long is news again.
const FORGET: Millis = Millis::seconds(600);

/// What was said of each object, and when it was last true.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<Regarding, BTreeMap<Notice, Millis>>);

impl Said {
    /// Those of the notices that were not said yet.
    pub(super) fn news(&mut self, notices: Vec<Notice>, now: Millis) -> Vec<Notice> {
        let mut news = Vec::new();
        for notice in notices {
            let said = self.0.entry(notice.on.clone()).or_default();
            let last = said.insert(notice.clone(), now);
            if last.is_none_or(|last| now.since(last) >= FORGET) {
                news.push(notice);
            }
        }
        news
    }

    /// Objects of which nothing was true for long are forgotten.
    pub(super) fn sweep(&mut self, now: Millis) {
        self.0.retain(|_, said| {
            said.retain(|_, last| now.since(*last) < FORGET);
            !said.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Said;
    use mooring_plan::names::{IpName, IpUid, Millis};
    use mooring_plan::reason::Reason;
    use mooring_plan::step::{Notice, Regarding};

    fn notice(message: &str) -> Notice {
        let on = Regarding::Ip(IpName::from("a"), IpUid::from("u"));
        Notice {
            on,
            reason: Reason::NodeFull,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_thing_is_said_once_while_it_stays_true_and_again_when_it_comes_back() {
        let mut said = Said::default();
        assert_eq!(said.news(vec![notice("x")], Millis(0)).len(), 1);
        for minute in 1..100 {
            assert!(
                said.news(vec![notice("x")], Millis::seconds(60 * minute))
                    .is_empty()
            );
        }
        assert_eq!(said.news(vec![notice("y")], Millis::seconds(6000)).len(), 1);
        said.sweep(Millis::seconds(7000));
        assert_eq!(said.news(vec![notice("x")], Millis::seconds(7000)).len(), 1);
    }
}
