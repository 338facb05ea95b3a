//! Any bytes as a jitdump: every name and every piece of code lies in the file, in the order of time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbols::jitdump::Dump;

fuzz_target!(|bytes: &[u8]| {
    let Ok(dump) = Dump::parse(bytes) else { return };
    assert!(dump.loads.is_sorted_by_key(|load| load.time));
    for load in &dump.loads {
        assert!(bytes.get(load.name.clone()).is_some());
        assert!(bytes.get(load.code.clone()).is_some_and(|code| !code.is_empty()));
    }
});
