//! The mutator that all targets share: half of the inputs come from the JSON mutator.

use std::sync::OnceLock;

use mooring_fuzz::chance::Chance;
use mooring_fuzz::mutate::Mutator;

/// Changes the input in place, and returns its new length.
pub fn mutate(body: &str, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    static MUTATOR: OnceLock<Mutator> = OnceLock::new();
    let mut chance = Chance::new(u64::from(seed));
    if chance.once_in(2) {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let kept = MUTATOR.get_or_init(|| Mutator::of(body));
    let input = data.get(..size).unwrap_or_default().to_vec();
    let mut made = kept.change(input, &mut chance);
    made.truncate(most.min(data.len()));
    if let Some(place) = data.get_mut(..made.len()) {
        place.copy_from_slice(&made);
    }
    made.len()
}
