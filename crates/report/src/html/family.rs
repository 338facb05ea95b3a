//! The colours of causes: few enough to be distinguished, also with red-green colour blindness.
//!
//! The names are classes of `assets/report.css`; the palette in `assets/colours.css` builds on Okabe and Ito, "Color Universal Design".

/// The name's first match decides.
const FAMILIES: [(&str, &str); 23] = [
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
    ("queue.runtime", "queued"),
    ("hardware", "gap"),
    ("", "unknown"),
];

/// The colour class of the cause with this dotted name.
pub(crate) fn family(cause: &str) -> &'static str {
    let found = FAMILIES.iter().find(|(prefix, _)| cause.starts_with(prefix));
    found.map_or("unknown", |(_, family)| family)
}

/// Causes of one family that often stand together, by the shade that distinguishes them; 0 is the family's own colour.
const SHADES: [(&str, u8); 15] = [
    ("offcpu.socket", 1),
    ("offcpu.block-io", 2),
    ("offcpu.sleep", 1),
    ("offcpu.poll", 2),
    ("offcpu.other", 2),
    ("offcpu.runnable", 1),
    ("queue.behind", 1),
    ("queue.runtime", 2),
    ("kernel.timer", 1),
    ("kernel.ipi", 2),
    ("kernel.softirq", 1),
    ("kernel.nmi", 2),
    ("kernel.page-fault.major", 1),
    ("runtime.idle", 1),
    ("power.frequency-switch", 1),
];

/// The shade of the cause with this dotted name within its family, from 0 to 2.
pub(crate) fn shade(cause: &str) -> u8 {
    // System calls are too many for a table: their letters decide, so that the same call looks the same everywhere.
    if let Some(call) = cause.strip_prefix("kernel.syscall.") {
        return (call.bytes().map(u32::from).sum::<u32>() % 3) as u8;
    }
    SHADES.iter().find(|(prefix, _)| cause.starts_with(prefix)).map_or(0, |&(_, shade)| shade)
}

/// The classes of a bar of this cause, its family's and its shade's.
pub(crate) fn classes(cause: &str) -> String {
    match shade(cause) {
        0 => family(cause).to_owned(),
        shade => format!("{} shade-{shade}", family(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::{classes, family, shade};

    /// Waits and what follows them, kinds of interrupts, the two ends of one page's reading.
    #[test]
    fn causes_that_stand_together_look_different() {
        for (one, other) in [
            ("offcpu.lock", "offcpu.sleep"),
            ("offcpu.lock", "offcpu.block-io"),
            ("offcpu.preempted", "offcpu.runnable"),
            ("kernel.irq.eth0", "kernel.softirq.net_rx"),
            ("kernel.timer", "kernel.ipi.reschedule"),
            ("kernel.page-fault.minor", "kernel.page-fault.major"),
        ] {
            assert_eq!(family(one), family(other));
            assert_ne!(classes(one), classes(other), "{one} and {other}");
        }
    }

    /// By hand: the letters of `read` add up to 412, 412 mod 3 = 1.
    #[test]
    fn a_system_call_has_one_shade() {
        assert_eq!((shade("kernel.syscall.read"), shade("kernel.irq.read")), (1, 0));
    }
}
