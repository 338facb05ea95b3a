//! perf: whether it is there, can do what record requests, and was built with it.

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};

/// The first version with `--kcore`, which record uses (Linux 5.5, commit eeb399b531b0).
const OLDEST: (u32, u32) = (5, 5);

/// Without these `tailtrace record` fails, and what they are.
const NEEDED: [(&str, &str); 2] = [
    ("HAVE_AUXTRACE_SUPPORT", "AUX traces (Intel PT)"),
    ("HAVE_LIBTRACEEVENT", "tracepoints (libtraceevent)"),
];

/// Without these it shows less.
const USEFUL: [(&str, &str); 2] = [
    ("HAVE_LIBELF_SUPPORT", "libelf (uprobes, build IDs)"),
    ("HAVE_ZSTD_SUPPORT", "zstd (-z compresses the records)"),
];

/// The perf on the path.
pub(super) fn perf(machine: &Examination) -> Finding {
    const CHECK: &str = "perf";
    let release = machine.tree.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let install = "sudo apt-get install linux-perf    # Ubuntu: linux-tools-$(uname -r); Fedora: perf";
    let Some(build) = &machine.build else {
        let means = "tailtrace record runs perf";
        return Finding::of(Level::Stops, CHECK, "no perf on the path", means).mended_by(install);
    };
    let lacks = |options: &[(&str, &'static str)]| -> Vec<&'static str> {
        options.iter().filter(|(option, _)| build.lacks(option)).map(|&(_, name)| name).collect()
    };
    let version = &build.version;
    let (needed, useful) = (lacks(&NEEDED), lacks(&USEFUL));
    let without = |names: &[&str]| format!("perf {version}, built without {}", names.join(" and "));
    if !needed.is_empty() {
        let means = "perf refuses the events that record requests";
        Finding::of(Level::Stops, CHECK, without(&needed), means).mended_by(install)
    } else if build.numbers().is_some_and(|numbers| numbers < OLDEST) {
        let means = "it has no --kcore: the kernel's code cannot be recorded (Linux 5.5)";
        Finding::of(Level::Stops, CHECK, format!("perf {version} is too old"), means).mended_by(install)
    } else if !useful.is_empty() {
        let means = "recording works; these options do not";
        Finding::of(Level::Note, CHECK, without(&useful), means).mended_by(install)
    } else {
        Finding::fine(CHECK, format!("perf {version} on Linux {release}"))
    }
}
