//! Families of causes, and their colours in the style sheet.

use super::*;
use crate::html::family::family;

const STYLE: &str = include_str!("../../assets/colours.css");

/// The dark theme: what follows the rule for who asks for it, up to that rule's end.
fn dark() -> &'static str {
    let (_, rest) = STYLE.split_once("[data-theme=\"dark\"]").expect("the sheet has a dark theme");
    rest.split_once('}').expect("the rule ends").0
}

#[test]
fn colours_are_those_of_the_page() {
    for (class, (red, green, blue)) in COLOURS {
        let rule = format!("--{class}: #{red:02x}{green:02x}{blue:02x};");
        assert!(dark().contains(&rule), "{rule}");
    }
}

/// But for system calls, which have a colour of their own there and are the kernel's here.
#[test]
fn a_cause_has_the_same_colour_on_the_page() {
    for cause in [
        "user.expected",
        "user.extra-work",
        "user.slower.front-end",
        "user.spin",
        "kernel.page-fault.minor",
        "kernel.softirq.net_rx",
        "kernel.schedule",
        "offcpu.runnable",
        "offcpu.lock",
        "power.c-state-exit.C6",
        "runtime.gc.jvm",
        "runtime.idle.go",
        "queue.behind",
        "queue.runtime",
        "hardware.gap",
        "trace.loss",
        "unexplained",
    ] {
        assert_eq!(GROUPS[Family::of(cause).0].class, family(cause), "{cause}");
    }
}

#[test]
fn every_class_has_a_colour() {
    for group in &GROUPS {
        assert!(COLOURS.iter().any(|(class, _)| *class == group.class), "{}", group.class);
    }
}

#[test]
fn letters_tell_families_apart() {
    let letters: std::collections::BTreeSet<&str> = GROUPS.iter().map(|group| group.letter).collect();
    assert_eq!(letters.len(), GROUPS.len());
}
