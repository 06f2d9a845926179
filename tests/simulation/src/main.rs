//! The real controller in a world that one number decides.

fn main() {}
