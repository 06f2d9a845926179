//! The places of the source that change, and their replacements.

use std::ops::Range;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The number that switches it on. Numbers start at 1 and have no gaps over all files.
    pub(crate) id: u32,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The name in the list of survivors, for example `replace == with != in Facts::see`.
    pub(crate) name: String,
    /// The code that replaces the original.
    pub(crate) text: String,
}

/// The way in which the changes of a place are written into the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Another expression replaces the expression at the range.
    Expression,
    /// A field of a struct expression, written as its name alone.
    Shorthand,
    /// The empty range after a pattern: the arm is disabled.
    Arm,
    /// The empty range at the start of a function body: the function returns at once.
    Body,
    /// The body of a function that returns `impl Iterator`. Another iterator with the same items replaces it.
    Iterator,
}

/// The time at which the code checks which mutant is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    AtRunTime,
    /// Code that a constant needs: such a mutant has a separate build.
    WhenCompiled,
}

/// A place of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) range: Range<usize>,
    pub(crate) shape: Shape,
    pub(crate) asked: Asked,
    pub(crate) mutants: Vec<Mutant>,
}

/// The result for one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) sites: Vec<Site>,
    /// Each `const` of a function that no constant needs. It is removed, so that the function can check at run time.
    pub(crate) constness: Vec<Range<usize>>,
    /// The number of the first mutant that is not in this file.
    pub(crate) next: u32,
}
