//! Feeds `mooring_fuzz::objects`.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| mooring_fuzz::objects::objects(data));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mooring_fuzz_nightly::mutate("objects", data, size, most, seed)
});
