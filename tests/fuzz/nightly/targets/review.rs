//! Feeds `mooring_fuzz::review`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| mooring_fuzz::review::review(data));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mooring_fuzz_nightly::mutate("review", data, size, most, seed)
});
