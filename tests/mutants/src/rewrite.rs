//! Writes all mutants of a file into its text, each behind the question whether it is switched on.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::site::{Asked, Mutant, Shape, Site, Sites};

/// A file with its mutants, and where they are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// The text of each mutant.
    pub(crate) mutants: Vec<(Range<usize>, u32)>,
    /// Each place, original and mutants together.
    pub(crate) sites: Vec<(Range<usize>, Vec<u32>)>,
}

impl Rewritten {
    /// The mutants that an error at these bytes is about: the one whose text it lies in, otherwise all of the
    /// smallest place around it.
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
    /// The original is left out up to here.
    Skip(usize),
}

/// At one position: what ends there comes before what begins there; the larger begins first and ends last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Ends(usize),
    Begins(core::cmp::Reverse<usize>),
}

pub(crate) fn rewrite(source: &str, found: &Sites, without: &BTreeSet<u32>) -> Rewritten {
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

fn apply(source: &str, found: &Sites, edits: Vec<(usize, Order, Vec<Piece>)>) -> Rewritten {
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

/// What stands before and after the original of a place.
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
