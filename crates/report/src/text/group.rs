//! Causes by family: a letter and a colour for each, so that a strip of letters can be read at a glance.

use super::Style;
use super::paint::Ink;

/// A family of causes.
pub(super) struct Group {
    /// Its letter in the timeline.
    pub(super) letter: &'static str,
    /// Its name in the legend.
    pub(super) name: &'static str,
    /// ANSI parameters of its cells.
    code: &'static str,
    /// The beginnings of its causes' dotted names.
    prefixes: &'static [&'static str],
}

/// Letters are capitals but for time that is as it should be. Tried in order; the last takes what is left.
pub(super) const GROUPS: [Group; 15] = [
    Group { letter: "·", name: "user, as expected", code: "2", prefixes: &["user.expected"] },
    Group { letter: "X", name: "user, extra work", code: "30;43", prefixes: &["user.extra-work"] },
    Group { letter: "S", name: "user, slower", code: "30;103", prefixes: &["user.slower"] },
    Group { letter: "B", name: "user, spinning", code: "30;103", prefixes: &["user."] },
    Group { letter: "F", name: "page fault", code: "30;105", prefixes: &["kernel.page-fault"] },
    Group {
        letter: "I",
        name: "interrupt",
        code: "30;101",
        prefixes: &["kernel.irq", "kernel.timer", "kernel.ipi", "kernel.nmi", "kernel.softirq"],
    },
    Group { letter: "K", name: "kernel", code: "30;104", prefixes: &["kernel."] },
    Group {
        letter: "P",
        name: "off-CPU, runnable",
        code: "30;46",
        prefixes: &["offcpu.preempted", "offcpu.runnable"],
    },
    Group { letter: "W", name: "off-CPU, waiting", code: "30;106", prefixes: &["offcpu."] },
    Group { letter: "C", name: "power", code: "30;102", prefixes: &["power."] },
    Group { letter: "G", name: "garbage collection", code: "30;42", prefixes: &["runtime."] },
    Group { letter: "Q", name: "queued behind another", code: "30;45", prefixes: &["queue."] },
    Group { letter: "H", name: "hardware gap", code: "97;41", prefixes: &["hardware."] },
    Group { letter: "L", name: "trace lost or off", code: "97;45", prefixes: &["trace."] },
    Group { letter: "?", name: "not known", code: "30;47", prefixes: &[""] },
];

/// The index in [`GROUPS`] of a cause's family.
pub(super) fn group_of(cause: &str) -> usize {
    GROUPS
        .iter()
        .position(|group| group.prefixes.iter().any(|prefix| cause.starts_with(prefix)))
        .unwrap_or(GROUPS.len() - 1)
}

impl Group {
    /// `count` cells of its letter.
    pub(super) fn cells(&self, count: usize, style: Style) -> String {
        let letter = if self.letter.is_ascii() { self.letter } else { style.glyph(self.letter, ".") };
        style.paint(Ink::Code(self.code), &letter.repeat(count))
    }
}
