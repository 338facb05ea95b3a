//! The colours of causes: few enough to be distinguished, also with red-green colour blindness.
//!
//! The names are classes of `assets/report.css`; its palette builds on Okabe and Ito, "Color Universal Design".

/// The name's first match decides.
const FAMILIES: [(&str, &str); 22] = [
    ("user.expected", "expected"),
    ("user.extra-work", "extra"),
    ("user.slower", "slower"),
    ("user.spin", "spin"),
    ("kernel.syscall", "syscall"),
    ("kernel.page-fault", "fault"),
    ("kernel.irq", "interrupt"),
    ("kernel.timer", "interrupt"),
    ("kernel.ipi", "interrupt"),
    ("kernel.softirq", "interrupt"),
    ("kernel.nmi", "interrupt"),
    ("kernel.unknown", "unknown"),
    ("kernel", "kernel"),
    ("offcpu.preempted", "queued"),
    ("offcpu.runnable", "queued"),
    ("offcpu", "wait"),
    ("power", "power"),
    ("runtime.gc", "collector"),
    ("runtime.idle", "wait"),
    ("queue.behind", "queued"),
    ("hardware", "gap"),
    ("", "unknown"),
];

/// The colour class of the cause with this dotted name.
pub(crate) fn family(cause: &str) -> &'static str {
    let found = FAMILIES.iter().find(|(prefix, _)| cause.starts_with(prefix));
    found.map_or("unknown", |(_, family)| family)
}
