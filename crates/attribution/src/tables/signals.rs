//! Signals by number, x86-64 (`arch/x86/include/uapi/asm/signal.h`), and the system calls that send them (`kernel/signal.c`).

use model::{Pid, ThreadId, Tid};

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

/// The signal that the system call `call` sends to `to`, by its recorded arguments; `None` where it sends none, or to another one. One
/// sent to a process may be handled by any of its threads.
pub(crate) fn sent(call: &str, arguments: &[u64], to: ThreadId) -> Option<String> {
    let is_thread = |argument: u64| i32::try_from(argument).is_ok_and(|number| Tid(number) == to.tid);
    let is_process = |argument: u64| i32::try_from(argument).is_ok_and(|number| Pid(number) == to.pid);
    let (is_target, signal) = match (call, arguments) {
        ("kill" | "rt_sigqueueinfo", &[process, signal, ..]) => (is_process(process), signal),
        ("tkill", &[thread, signal, ..]) | ("tgkill" | "rt_tgsigqueueinfo", &[_, thread, signal, ..]) => {
            (is_thread(thread), signal)
        }
        _ => return None,
    };
    // The kernel takes the low 32 bits of the register.
    name(signal & 0xffff_ffff).filter(|_| is_target)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `man 2 kill`, `tgkill`, `rt_sigqueueinfo`, and the numbers of `kill -l`.
    #[test]
    fn calls_that_send_signals_are_known_by_their_arguments() {
        let to = ThreadId::new(100, 101);
        for (call, arguments, expected) in [
            ("kill", &[100, 10][..], Some("SIGUSR1")),
            ("kill", &[101, 10], None),
            ("kill", &[100, 0], None),
            ("tkill", &[101, 12, 0xdead], Some("SIGUSR2")),
            ("tgkill", &[100, 101, 14], Some("SIGALRM")),
            ("tgkill", &[100, 100, 14], None),
            ("rt_tgsigqueueinfo", &[100, 101, 34, 0x7fff], Some("real-time signal 34")),
            ("rt_sigqueueinfo", &[100, 31], Some("SIGSYS")),
            ("rt_sigqueueinfo", &[100, 65], None),
            ("tgkill", &[100, 101], None),
            ("read", &[100, 10], None),
        ] {
            assert_eq!(sent(call, arguments, to).as_deref(), expected, "{call} {arguments:?}");
        }
    }
}
