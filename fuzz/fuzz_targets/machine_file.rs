//! Machine files of any bytes: no panic, and what is kept can be written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::Machine;

fuzz_target!(|bytes: &[u8]| {
    let mut diagnostics = Vec::new();
    let Some(machine) = Machine::parse(bytes, "machine.json", &mut diagnostics) else {
        assert!(!diagnostics.is_empty(), "nothing is left out in silence");
        return;
    };
    for device in &machine.block_devices {
        assert!(device.words().len() <= 5 * 300);
    }
    let text = machine.to_json().expect("JSON");
    // Fields that were not told are written out, so that a file near the limit may pass it.
    if text.len() as u64 > Machine::LARGEST {
        return;
    }
    assert_eq!(Machine::parse(text.as_bytes(), "again", &mut Vec::new()), Some(machine));
});
