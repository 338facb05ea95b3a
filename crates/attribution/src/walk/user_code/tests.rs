//! Nodes that are independent of the counts, and footprints by hand.

use model::Tsc;
use pt::{BlockEnd, TimeBounds};

use super::*;

fn function(name: &str, start: u64) -> Function {
    Function { start, range: start..start + 0x100, name: Arc::from(name), library: false, collector: None }
}

fn block(ip: u64, end_ip: u64) -> Block {
    let time = TimeBounds::between(Tsc(0), Tsc(0));
    let (end, bits, kernel, thread, aux_offset) = (BlockEnd::Jump, 64, false, None, 0);
    Block { ip, end_ip, instructions: 10, end, bits, kernel, thread, time, aux_offset }
}

#[test]
fn a_function_is_known_by_who_called_it() {
    let mut code = UserCode::default();
    let (work, copy) = (function("work", 0x1000), function("copy", 0x2000));
    let root = code.node(NodeKey::default(), Some(&work));
    let below = code.node(root, Some(&copy));
    assert_ne!(below, code.node(NodeKey::default(), Some(&copy)));
    assert_eq!(code.node(below, Some(&copy)), below, "recursion is one node");
    // At other addresses and in another capture it is the same.
    let mut other = UserCode::default();
    let root = other.node(NodeKey::default(), Some(&function("work", 0x7000)));
    assert_eq!(other.node(root, Some(&function("copy", 0x8000))), below);
}

/// Ten instructions cannot be longer than 150 bytes, whatever the end says.
#[test]
fn a_damaged_end_is_no_endless_footprint() {
    let mut footprint = Footprint::default();
    footprint.touch(&block(0x1000, u64::MAX));
    assert!(footprint.lines() <= 4);
    footprint.touch(&block(u64::MAX - 3, 5));
    assert!(footprint.lines() <= 5);
}

#[test]
fn split_parts_belong_to_their_function() {
    for (part, whole) in [
        ("check.cold", "check"),
        ("check.constprop.0.cold.12", "check.constprop.0"),
        ("book::take(int) [clone .cold]", "book::take(int)"),
        ("book::take(int) [clone .cold.3]", "book::take(int)"),
        ("check.constprop.0", "check.constprop.0"),
        ("main.coldPath", "main.coldPath"),
        ("[no symbol]", "[no symbol]"),
    ] {
        assert_eq!(whole_name(part), whole);
    }
}
