//! Tracks the known objects, to find those that are missing in a new list.

use std::collections::BTreeSet;

/// The keys of the known objects, and of those in a list that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct RelistDiff {
    known: BTreeSet<String>,
    listing: Option<BTreeSet<String>>,
}

impl RelistDiff {
    /// Starts a list. An earlier list that did not end is ignored.
    pub(super) fn begin(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    pub(super) fn see(&mut self, key: String) {
        match &mut self.listing {
            Some(listing) => listing.insert(key),
            None => self.known.insert(key),
        };
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.known.remove(key);
    }

    /// Ends a list. Returns the known objects that are not in it.
    pub(super) fn done(&mut self) -> Vec<String> {
        let Some(listing) = self.listing.take() else {
            return Vec::new();
        };
        let before = std::mem::replace(&mut self.known, listing);
        before.difference(&self.known).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::RelistDiff;

    fn list(known: &mut RelistDiff, keys: &[&str]) -> Vec<String> {
        known.begin();
        for key in keys {
            known.see((*key).to_owned());
        }
        known.done()
    }

    #[test]
    fn an_object_that_a_complete_list_does_not_contain_is_gone() {
        let mut known = RelistDiff::default();
        assert!(list(&mut known, &["a", "b"]).is_empty());
        known.see("c".to_owned());
        known.forget("a");
        assert_eq!(list(&mut known, &["b"]), ["c"]);
        assert!(list(&mut known, &["b"]).is_empty());
    }

    #[test]
    fn a_list_that_breaks_off_says_nothing() {
        let mut known = RelistDiff::default();
        list(&mut known, &["a", "b"]);
        known.begin();
        known.see("a".to_owned());
        assert!(list(&mut known, &["a", "b"]).is_empty());
    }
}
