//! Causes by family: a letter and a colour for each, so that a strip of letters can be read at a glance.

use super::style::{Ink, Style};

/// A family of causes.
pub(crate) struct Group {
    /// Its letter in the timeline.
    pub(crate) letter: &'static str,
    /// Its name in the legend.
    pub(crate) name: &'static str,
    /// The class of its colour on the HTML page.
    pub(crate) class: &'static str,
    /// ANSI parameters of its cells.
    code: &'static str,
    /// The beginnings of its causes' dotted names.
    prefixes: &'static [&'static str],
}

/// Letters are capitals but for time that is as it should be. Tried in order; the last takes what is left.
pub(crate) const GROUPS: [Group; 15] = [
    Group {
        letter: "·",
        class: "expected",
        name: "user, as expected",
        code: "2",
        prefixes: &["user.expected"],
    },
    Group {
        letter: "X",
        class: "extra",
        name: "user, extra work",
        code: "30;43",
        prefixes: &["user.extra-work"],
    },
    Group { letter: "S", class: "slower", name: "user, slower", code: "30;103", prefixes: &["user.slower"] },
    Group { letter: "B", class: "spin", name: "user, spinning", code: "30;103", prefixes: &["user."] },
    Group {
        letter: "F",
        class: "fault",
        name: "page fault",
        code: "30;105",
        prefixes: &["kernel.page-fault"],
    },
    Group {
        letter: "I",
        class: "interrupt",
        name: "interrupt",
        code: "30;101",
        prefixes: &["kernel.irq", "kernel.timer", "kernel.ipi", "kernel.nmi", "kernel.softirq"],
    },
    Group { letter: "K", class: "kernel", name: "kernel", code: "30;104", prefixes: &["kernel."] },
    Group {
        letter: "P",
        class: "queued",
        name: "off-CPU, runnable",
        code: "30;46",
        prefixes: &["offcpu.preempted", "offcpu.runnable"],
    },
    Group {
        letter: "W",
        class: "wait",
        name: "off-CPU, waiting",
        code: "30;106",
        prefixes: &["offcpu.", "runtime.idle."],
    },
    Group { letter: "C", class: "power", name: "power", code: "30;102", prefixes: &["power."] },
    Group {
        letter: "G",
        class: "collector",
        name: "garbage collection",
        code: "30;42",
        prefixes: &["runtime.gc."],
    },
    Group {
        letter: "Q",
        class: "queued",
        name: "queued behind another",
        code: "30;45",
        prefixes: &["queue."],
    },
    Group { letter: "H", class: "gap", name: "hardware gap", code: "97;41", prefixes: &["hardware."] },
    Group { letter: "L", class: "unknown", name: "trace lost or off", code: "97;45", prefixes: &["trace."] },
    Group { letter: "?", class: "unknown", name: "unknown", code: "30;47", prefixes: &[""] },
];

/// The index in [`GROUPS`] of a cause's family.
pub(crate) fn group_of(cause: &str) -> usize {
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
