//! `mooring crds`.

use std::io::Write as _;

use crate::supervise::BoxError;

/// Prints the definitions, one YAML document each.
pub fn print() -> Result<(), BoxError> {
    std::io::stdout()
        .lock()
        .write_all(crate::api::crds()?.as_bytes())?;
    Ok(())
}
