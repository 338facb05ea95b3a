//! Any bytes as a tracepoint's `format` file, as its payload, and as a section of formats.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| perfdata::fuzz_formats(bytes));
