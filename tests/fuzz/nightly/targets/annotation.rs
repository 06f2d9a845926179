//! Feeds `mooring_fuzz::annotation`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| mooring_fuzz::annotation::annotation(data));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mooring_fuzz_nightly::mutate("annotation", data, size, most, seed)
});
