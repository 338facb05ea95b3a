//! Any text as an event with conditions: what is read is shown so that it is read as the same again.
#![no_main]

use intervals::EventPattern;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Ok(pattern) = input.parse::<EventPattern>() else { return };
    let shown = pattern.to_string();
    assert_eq!(shown.parse::<EventPattern>().expect("what is shown can be read"), pattern);
});
