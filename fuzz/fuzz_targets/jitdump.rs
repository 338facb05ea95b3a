//! Any bytes as a jitdump: every name and every piece of code lies in the file, in the order of time; of its lines every name in their record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbols::jitdump::Dump;
use symbols::jitdump::lines::Entries;

fuzz_target!(|bytes: &[u8]| {
    let Ok(dump) = Dump::parse(bytes) else { return };
    assert!(dump.loads.is_sorted_by_key(|load| load.time));
    for load in &dump.loads {
        assert!(bytes.get(load.name.clone()).is_some());
        assert!(bytes.get(load.code.clone()).is_some_and(|code| !code.is_empty()));
        for entry in Entries::of(bytes, load) {
            let record = load.lines.clone().expect("a record of lines");
            assert!(record.start < entry.name.start && entry.name.end < record.end);
        }
    }
});
