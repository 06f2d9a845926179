//! A set of addresses as rows (ranges without gaps), so that a search for a free address skips thousands at once.

use alloc::collections::BTreeMap;

use crate::address::Address;

/// A set of addresses as rows of consecutive addresses: first address to last address. No two rows are adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct AddressRows(BTreeMap<u32, u32>);

impl AddressRows {
    /// The last address of the row from this address on; None if the set does not contain this address.
    pub(super) fn last_from(&self, address: Address) -> Option<Address> {
        self.row_of(address.number())
            .map(|(_, last)| Address::from_number(last))
    }

    pub(super) fn insert(&mut self, address: Address) {
        let at = address.number();
        if self.row_of(at).is_some() {
            return;
        }
        let before = at.checked_sub(1).and_then(|before| self.row_of(before));
        let first = before.map_or(at, |(first, _)| first);
        let after = at.checked_add(1).and_then(|after| self.0.remove(&after));
        self.0.insert(first, after.unwrap_or(at));
    }

    pub(super) fn remove(&mut self, address: Address) {
        let at = address.number();
        let Some((first, last)) = self.row_of(at) else {
            return;
        };
        self.0.remove(&first);
        if first < at {
            self.0.insert(first, at - 1);
        }
        if at < last {
            self.0.insert(at + 1, last);
        }
    }

    fn row_of(&self, at: u32) -> Option<(u32, u32)> {
        let (first, last) = self.0.range(..=at).next_back()?;
        (at <= *last).then_some((*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use proptest::prelude::*;

    use super::AddressRows;
    use crate::address::Address;
    use crate::block::BlockRange;

    fn rows(of: impl IntoIterator<Item = u32>) -> AddressRows {
        let mut rows = AddressRows::default();
        for at in of {
            rows.insert(Address::from_number(at));
        }
        rows
    }

    #[test]
    fn the_last_address_of_a_full_block_is_found_with_two_questions() {
        let range = BlockRange::parse("10.0.0.0/16", []).expect("a CIDR");
        let (first, last) = (0x0a00_0000, 0x0a00_ffff);
        // In this order, an added address joins rows at both ends.
        let odd = (first..last).filter(|at| at % 2 == 1);
        let rows = rows(odd.chain((first..last).filter(|at| at % 2 == 0)));
        let mut questions = 0;
        let subnets = ["10.0.0.0/8".parse().expect("a CIDR")];
        let free = range.lowest_free(&subnets, |address| {
            questions += 1;
            rows.last_from(address)
        });
        assert_eq!((free, questions), (Some(Address::from_number(last)), 2));
    }

    proptest! {
        #[test]
        fn rows_contain_what_was_inserted_and_not_removed(
            changes in proptest::collection::vec((any::<bool>(), prop_oneof![0_u32..24, u32::MAX - 8..=u32::MAX]), 0..80),
        ) {
            let (mut rows, mut set) = (AddressRows::default(), BTreeSet::new());
            for (inserted, at) in changes {
                if inserted {
                    rows.insert(Address::from_number(at));
                    set.insert(at);
                } else {
                    rows.remove(Address::from_number(at));
                    set.remove(&at);
                }
            }
            for at in (0..32).chain(u32::MAX - 16..=u32::MAX) {
                let last = set.contains(&at).then(|| {
                    let row = (at..=u32::MAX).take_while(|at| set.contains(at));
                    row.last().unwrap_or(at)
                });
                prop_assert_eq!(rows.last_from(Address::from_number(at)), last.map(Address::from_number));
            }
            // The result equals a set to which the removed addresses were never added.
            prop_assert_eq!(rows, self::rows(set));
        }
    }
}
