//! Counts that an environment variable can set.

/// How often a test does something: `default`, unless `variable` is set (`make verify` repeats more often).
///
/// # Panics
/// If the value of the variable is not a number: the test would do less than was asked for.
pub fn count(variable: &str, default: usize) -> usize {
    std::env::var_os(variable).map_or(default, |set| {
        let number = set.to_str().and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("{variable}={} is not a number", set.display()))
    })
}
