//! Which changes were not made because the kernel refused others, and which were made and are necessary again.

use super::difference::Change;
use super::kernel::KernelError;

/// The changes that are necessary although they were made: another program undoes them. `changes` are those that are
/// necessary after the last round, in which the kernel refused `refused`.
pub(super) fn undone(
    changes: Vec<Change>,
    refused: &[(Change, KernelError)],
) -> Vec<(Change, KernelError)> {
    let made = |change: &Change| {
        // This step follows from another change. It leaves nothing that another program can undo.
        !matches!(change, Change::ForgetConnections(_))
            && !refused.iter().any(|(other, _)| other == change)
            && !depends_on(change, refused)
    };
    let undone = changes.into_iter().filter(made).map(|change| {
        let what = change.to_string();
        (change, KernelError::Undone(what))
    });
    undone.collect()
}

/// Whether a refused change holds back this one: each transaction of the table depends on those before it, an address on
/// the table, which keeps its source, and the removal of the table on all changes.
pub(super) fn depends_on(change: &Change, refused: &[(Change, KernelError)]) -> bool {
    let of_table = || refused.iter().any(|(other, _)| is_of_table(other));
    ((is_of_table(change) || matches!(change, Change::AddAddress(_))) && of_table())
        || (matches!(change, Change::RemoveTable) && !refused.is_empty())
}

pub(super) const fn is_of_table(change: &Change) -> bool {
    matches!(
        change,
        Change::UpdateTable(_) | Change::ReplaceTable(_) | Change::ForgetConnections(_)
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::json;

    use super::*;
    use crate::node::connections::Expected;
    use crate::node::state::{LocalAddress, Rule, Selector};

    fn rule(last: u8) -> Change {
        let selector = Selector::From(Ipv4Addr::new(203, 0, 113, last));
        Change::AddRule(Rule { selector, table: 1 })
    }

    fn update() -> Change {
        Change::UpdateTable(json!({}))
    }

    fn address() -> Change {
        Change::AddAddress(LocalAddress {
            link: 2,
            address: Ipv4Addr::new(203, 0, 113, 1),
            prefix: 32,
            ours: true,
        })
    }

    fn refused(change: Change) -> (Change, KernelError) {
        let (what, reason) = ("a change", "no".to_owned());
        (change, KernelError::Nft { what, reason })
    }

    /// The changes that are reported as undone.
    fn reported(needed: &[Change], refused: &[(Change, KernelError)]) -> Vec<Change> {
        let undone = undone(needed.to_vec(), refused);
        let all = undone.iter();
        assert!(
            all.clone()
                .all(|(_, error)| matches!(error, KernelError::Undone(_)))
        );
        all.map(|(change, _)| change.clone()).collect()
    }

    #[test]
    fn a_refused_change_hides_no_undone_one() {
        let needed = [rule(1), rule(2), update()];
        assert_eq!(reported(&needed, &[]), needed);
        let seen = reported(&needed, &[refused(rule(1))]);
        assert_eq!(seen, [rule(2), update()]);
    }

    #[test]
    fn a_change_that_a_refused_one_prevents_is_not_undone() {
        let needed = [update(), Change::UpdateTable(json!([])), rule(1)];
        let seen = reported(&needed, &[refused(update())]);
        assert_eq!(seen, [rule(1)]);
        let needed = [update(), address()];
        assert_eq!(reported(&needed, &[refused(update())]), []);
        let needed = [rule(1), Change::RemoveTable];
        assert_eq!(reported(&needed, &[refused(rule(1))]), []);
        let needed = [rule(1), Change::ForgetConnections(Expected::default())];
        assert_eq!(reported(&needed, &[refused(rule(1))]), []);
    }
}
