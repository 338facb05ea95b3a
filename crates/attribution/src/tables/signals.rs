//! Signals by number, x86-64 (`arch/x86/include/uapi/asm/signal.h`), and the system calls that send them (`kernel/signal.c`).

use model::ThreadId;

/// From number 1 on.
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The kernel's first real-time signal; the C library keeps the first two of them for itself, and its `SIGRTMIN` is 34.
const FIRST_REAL_TIME: u64 = 32;

/// The last one.
const LAST: u64 = 64;

/// The name of signal `number`; 0 tests only whether a process exists.
fn name(number: u64) -> Option<String> {
    match usize::try_from(number).ok()?.checked_sub(1)? {
        index if index < NAMES.len() => Some(NAMES[index].to_owned()),
        _ if (FIRST_REAL_TIME..=LAST).contains(&number) => Some(format!("real-time signal {number}")),
        _ => None,
    }
}

/// The signal that the system call `call` sends to `to`, by its recorded arguments, and whether to its whole process, of which any thread
/// may handle it; `None` where it sends none, or to another one.
pub(crate) fn sent(call: &str, arguments: &[u64], to: ThreadId) -> Option<(String, bool)> {
    let (target, signal, to_process) = match (call, arguments) {
        ("kill" | "rt_sigqueueinfo", &[process, signal, ..]) => (process, signal, true),
        ("tkill", &[thread, signal, ..]) | ("tgkill" | "rt_tgsigqueueinfo", &[_, thread, signal, ..]) => {
            (thread, signal, false)
        }
        _ => return None,
    };
    // The kernel takes the low 32 bits of the registers.
    let low = |argument: u64| argument & 0xffff_ffff;
    let number = if to_process { to.pid.0 } else { to.tid.0 };
    let is_target = u64::try_from(number).is_ok_and(|number| low(target) == number);
    Some((name(low(signal)).filter(|_| is_target)?, to_process))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `man 2 kill`, `tgkill`, `rt_sigqueueinfo`, and the numbers of `kill -l`.
    #[test]
    fn calls_that_send_signals_are_known_by_their_arguments() {
        let to = ThreadId::new(100, 101);
        for (call, arguments, expected) in [
            ("kill", &[100, 10][..], Some(("SIGUSR1", true))),
            ("kill", &[101, 10], None),
            ("kill", &[100, 0], None),
            ("kill", &[0xffff_ffff_0000_0064, 10], Some(("SIGUSR1", true))),
            // A process group, and every process.
            ("kill", &[(-100i64).cast_unsigned(), 10], None),
            ("kill", &[u64::MAX, 10], None),
            ("tkill", &[101, 12, 0xdead], Some(("SIGUSR2", false))),
            ("tgkill", &[100, 101, 14], Some(("SIGALRM", false))),
            ("tgkill", &[100, 100, 14], None),
            ("rt_tgsigqueueinfo", &[100, 101, 34, 0x7fff], Some(("real-time signal 34", false))),
            ("rt_sigqueueinfo", &[100, 31], Some(("SIGSYS", true))),
            ("rt_sigqueueinfo", &[100, 65], None),
            ("tgkill", &[100, 101], None),
            ("read", &[100, 10], None),
        ] {
            let expected = expected.map(|(signal, to_process)| (signal.to_owned(), to_process));
            assert_eq!(sent(call, arguments, to), expected, "{call} {arguments:?}");
        }
    }
}
