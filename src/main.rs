//! Mooring.

use std::process::ExitCode;

fn main() -> ExitCode {
    mooring::cli::main()
}
