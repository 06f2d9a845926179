//! Writes all mutants of a file into its text, each with a check whether it is switched on.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::site::{Asked, Found, Mutant, Shape, Site};

/// A file with its mutants, and their positions in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// The range of the text of each mutant.
    pub(crate) mutants: Vec<(Range<usize>, u32)>,
    /// The range of each place, with the original and all mutants.
    pub(crate) sites: Vec<(Range<usize>, Vec<u32>)>,
}

impl Rewritten {
    /// The mutant whose text contains an error at these bytes. See also [`Self::around`]: all mutants of the smallest
    /// place around the error.
    pub(crate) fn blamed(&self, error: &Range<usize>) -> Option<Vec<u32>> {
        let holds = |range: &Range<usize>| range.start <= error.start && error.end <= range.end;
        let own = self.mutants.iter().find(|(range, _)| holds(range));
        own.map(|(_, id)| vec![*id])
    }

    pub(crate) fn around(&self, error: &Range<usize>) -> Option<Vec<u32>> {
        let holds = |range: &Range<usize>| range.start <= error.start && error.end <= range.end;
        let around = self.sites.iter().filter(|(range, _)| holds(range));
        let smallest = around.min_by_key(|(range, _)| range.len());
        smallest.map(|(_, ids)| ids.clone())
    }
}

enum Piece<'a> {
    Text(String),
    Mutant(&'a Mutant),
    Open(usize),
    Close(usize),
    /// The original text up to this position is left out.
    Skip(usize),
}

/// The order of edits at one position: ends before begins. The larger range begins first and ends last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Ends(usize),
    Begins(core::cmp::Reverse<usize>),
}

pub(crate) fn rewrite(source: &str, found: &Found, without: &BTreeSet<u32>) -> Rewritten {
    let mut edits: Vec<(usize, Order, Vec<Piece>)> = Vec::new();
    for range in &found.constness {
        let order = Order::Begins(core::cmp::Reverse(0));
        edits.push((range.start, order, vec![Piece::Skip(range.end)]));
    }
    for (index, site) in found.sites.iter().enumerate() {
        let kept: Vec<&Mutant> = site
            .mutants
            .iter()
            .filter(|mutant| !without.contains(&mutant.id))
            .collect();
        let Some((last, others)) = kept.split_last() else {
            continue;
        };
        let (before, mut after) = written(source, site, others, last);
        let mut begin = vec![Piece::Open(index)];
        begin.extend(before);
        after.push(Piece::Close(index));
        let length = site.range.len();
        if length == 0 {
            begin.extend(after);
            let order = Order::Begins(core::cmp::Reverse(usize::MAX));
            edits.push((site.range.start, order, begin));
        } else {
            let order = Order::Begins(core::cmp::Reverse(length));
            edits.push((site.range.start, order, begin));
            edits.push((site.range.end, Order::Ends(length), after));
        }
    }
    edits.sort_by_key(|(position, order, _)| (*position, *order));
    apply(source, found, edits)
}

fn apply(source: &str, found: &Found, edits: Vec<(usize, Order, Vec<Piece>)>) -> Rewritten {
    let mut out = Rewritten::default();
    let mut at = 0;
    let mut begun = vec![0; found.sites.len()];
    for (position, _, pieces) in edits {
        out.text
            .push_str(source.get(at..position).unwrap_or_default());
        at = at.max(position);
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.text.push_str(&text),
                Piece::Mutant(mutant) => {
                    let start = out.text.len();
                    out.text.push_str(&mutant.text);
                    out.mutants.push((start..out.text.len(), mutant.id));
                }
                Piece::Open(index) => {
                    if let Some(begun) = begun.get_mut(index) {
                        *begun = out.text.len();
                    }
                }
                Piece::Close(index) => {
                    if let Some((begun, site)) = begun.get(index).zip(found.sites.get(index)) {
                        let ids = site.mutants.iter().map(|mutant| mutant.id).collect();
                        out.sites.push((*begun..out.text.len(), ids));
                    }
                }
                Piece::Skip(end) => at = end,
            }
        }
    }
    out.text.push_str(source.get(at..).unwrap_or_default());
    out
}

/// The text before and after the original of a place.
fn written<'a>(
    source: &str,
    site: &Site,
    others: &[&'a Mutant],
    last: &'a Mutant,
) -> (Vec<Piece<'a>>, Vec<Piece<'a>>) {
    let first = others.first().map_or(last.id, |mutant| mutant.id);
    let ask = match site.asked {
        Asked::AtRunTime => "which",
        Asked::WhenCompiled => "fixed",
    };
    let ask = format!("crate::mutant::{ask}({first}, {})", last.id);
    let arms = |open: &str, close: &str| {
        let mut arms = Vec::new();
        for mutant in others.iter().copied().chain([last]) {
            let pattern = if mutant.id == last.id {
                "_".to_owned()
            } else {
                mutant.id.to_string()
            };
            arms.push(Piece::Text(format!(" {pattern} => {open}")));
            arms.push(Piece::Mutant(mutant));
            arms.push(Piece::Text(format!("{close},")));
        }
        arms
    };
    let text = |text: String| vec![Piece::Text(text)];
    match site.shape {
        Shape::Expression | Shape::Shorthand => {
            let mut name = String::new();
            if site.shape == Shape::Shorthand {
                let field = source.get(site.range.clone()).unwrap_or_default();
                name = format!("{field}: ");
            }
            let mut after = text("},".to_owned());
            after.extend(arms("{ ", " }"));
            after.push(Piece::Text(" })".to_owned()));
            (text(format!("{name}(match {ask} {{ 0 => {{")), after)
        }
        Shape::Arm => (text(format!(" if {ask} == 0")), Vec::new()),
        Shape::Body => {
            let mut before = text(format!(" match {ask} {{ 0 => {{}}"));
            before.extend(arms("return ", ""));
            before.push(Piece::Text(" }".to_owned()));
            (before, Vec::new())
        }
        Shape::Iterator => {
            let mut before = text(format!(
                "{{ crate::mutant::instead(match {ask} {{ 0 => None,"
            ));
            before.extend(arms("Some(", ")"));
            before.push(Piece::Text(" }, ".to_owned()));
            (before, text(") }".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::discover;

    fn rewritten(source: &str, without: &[u32]) -> Rewritten {
        let found = discover(source, 1, &BTreeSet::new()).unwrap();
        rewrite(source, &found, &without.iter().copied().collect())
    }

    #[test]
    fn an_expression_stands_beside_what_it_changes_into() {
        let new = rewritten("fn f(a: u8) { g(a == 1) }", &[1]).text;
        assert_eq!(
            new,
            "fn f(a: u8) { g((match crate::mutant::which(2, 2) { 0 => {a == 1}, _ => { (a) != (1) }, })) }"
        );
    }

    #[test]
    fn only_the_original_has_changes_within_it() {
        let new = rewritten("fn f(a: bool, b: bool) { g(!a && b) }", &[1]).text;
        assert_eq!(
            new,
            "fn f(a: bool, b: bool) { g((match crate::mutant::which(2, 2) { 0 => {\
             (match crate::mutant::which(3, 3) { 0 => {!a}, _ => { a }, }) && b}, _ => { (!a) || (b) }, })) }"
        );
    }

    #[test]
    fn a_function_returns_at_once() {
        let new = rewritten("fn f() -> bool { g() }", &[]).text;
        assert_eq!(
            new,
            "fn f() -> bool { match crate::mutant::which(1, 2) { 0 => {} 1 => return true, _ => return false, } g() }"
        );
    }

    #[test]
    fn an_arm_a_guard_and_a_field_are_taken_out() {
        let new = rewritten("fn f(a: u8) { match a { 1 => g(), _ => {} } }", &[1]).text;
        assert!(
            new.contains("1 if crate::mutant::which(2, 2) == 0 => g()"),
            "{new}"
        );
        let new = rewritten(
            "fn f(a: u8) { match a { n if n > b => g(), _ => {} } }",
            &[1, 4, 5, 6],
        )
        .text;
        assert!(new.contains("n if (match crate::mutant::which(2, 3) { 0 => {n > b}, 2 => { true }, _ => { false }, }) =>"), "{new}");
        let new = rewritten("fn f() -> A { A { a, ..b } }", &[1]).text;
        assert!(
            new.contains(
                "{ a: (match crate::mutant::which(2, 2) { 0 => {a}, _ => { (b).a }, }), ..b }"
            ),
            "{new}"
        );
    }

    #[test]
    fn a_mutant_that_does_not_compile_leaves_no_change() {
        let source = "fn f(a: u8) -> u8 { a << 1 }";
        assert_eq!(rewritten(source, &[1, 2, 3]).text, source);
    }

    #[test]
    fn a_function_is_no_longer_const_unless_a_constant_needs_it() {
        let source = "const fn f() -> bool { g() }";
        assert!(rewritten(source, &[1, 2]).text.starts_with(" fn f"));
        let needed = BTreeSet::from(["f".to_owned()]);
        let found = discover(source, 1, &needed).unwrap();
        let new = rewrite(source, &found, &BTreeSet::new()).text;
        assert!(
            new.starts_with("const fn f() -> bool { match crate::mutant::fixed(1, 2)"),
            "{new}"
        );
    }

    #[test]
    fn an_error_belongs_to_the_mutant_it_is_in_or_to_all_of_the_place_around_it() {
        let new = rewritten("fn f(a: u8) -> u8 { a + g(1) }", &[1, 2]);
        let product = new.text.find("(a) * (g(1))").unwrap();
        assert_eq!(new.blamed(&(product..product + 3)), Some(vec![4]));
        let original = new.text.find("{a + g(1)}").unwrap();
        let within = original + 1..original + 2;
        assert_eq!(new.blamed(&within), None);
        assert_eq!(new.around(&within), Some(vec![3, 4]));
    }
}
