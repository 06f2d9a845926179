//! Predicates for steps that a test waits for.

use mooring_plan::step::{StatusWrite, Step, Write};

/// A status write of this kind.
pub fn status_write(what: StatusWrite) -> impl Fn(&Step) -> bool {
    move |step| matches!(step, Step::Write(Write::Status { change, .. }) if *change == what)
}
