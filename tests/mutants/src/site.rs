//! The places of the source that change, and what each changes into.

use std::ops::Range;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The number that switches it on; from 1, without gaps, over all files.
    pub(crate) id: u32,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// What survivors are listed by: `replace == with != in Facts::see`.
    pub(crate) name: String,
    /// The code that takes the place of the original.
    pub(crate) text: String,
}

/// How the changes of a place are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The expression at the range gives way to another one.
    Expression,
    /// A field of a struct expression, written as its name alone.
    Shorthand,
    /// The empty range behind a pattern: the arm is taken out.
    Arm,
    /// The empty range at the begin of a function: it returns at once.
    Body,
    /// The block of a function that returns some iterator, and gives way to another one of the same type.
    Iterator,
}

/// When it is asked which mutant is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    AtRunTime,
    /// What a constant needs: such a mutant has a build of its own.
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

/// What is found in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) sites: Vec<Site>,
    /// Each `const` of a function that no constant needs: without it, it can ask at run time.
    pub(crate) constness: Vec<Range<usize>>,
    /// The number of the first mutant that is not in this file.
    pub(crate) next: u32,
}
