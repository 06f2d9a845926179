//! Feeds `mooring_fuzz::failure`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| mooring_fuzz::failure::failure(data));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mooring_fuzz_nightly::mutate("failure", data, size, most, seed)
});
