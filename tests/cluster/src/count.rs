//! Counts that an environment variable can set.

/// The number in the environment variable, or `default` if it is not set. `make verify` sets some, to repeat more.
///
/// # Panics
/// If the value of the variable is not a number: the test would do less than was asked for.
pub fn count(variable: &str, default: usize) -> usize {
    std::env::var_os(variable).map_or(default, |set| {
        let number = set.to_str().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("{variable}={} is not a number", set.display()))
    })
}
