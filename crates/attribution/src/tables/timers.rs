//! What a timer of the kernel is for, by the function that it calls.
//!
//! `net/ipv4/tcp_timer.c`, `net/ipv4/tcp_output.c`, `net/sched/sch_api.c`, `fs/timerfd.c`, `kernel/time/posix-timers.c` and
//! `itimer.c` of Linux 5.4 to 6.x. Timers that only end a sleep have no row.

use model::Cause;

/// The function, the timer in words, and whether it sends a signal when it expires, unless it was made to do something else (`man 2
/// timer_create`).
const TIMERS: [(&str, &str, bool); 8] = [
    ("tcp_delack_timer", "TCP's delayed-ACK timer", false),
    ("tcp_write_timer", "TCP's retransmission timer", false),
    ("tcp_keepalive_timer", "TCP's keepalive timer", false),
    ("tcp_pace_kick", "TCP's pacing timer", false),
    ("qdisc_watchdog", "the queueing discipline's timer", false),
    ("timerfd_tmrproc", "a timerfd", false),
    ("posix_timer_fn", "a POSIX timer", true),
    ("it_real_fn", "an interval timer", true),
];

/// The timer that calls `function`, in words.
pub(crate) fn timer_of(function: &str) -> Option<&'static str> {
    let name = function.split('.').next().unwrap_or(function);
    TIMERS.iter().find(|(known, ..)| *known == name).map(|&(_, words, _)| words)
}

/// Whether an interrupt or softirq with this cause is for timers to expire in.
pub(crate) fn expires_timers(cause: &Cause) -> bool {
    match cause {
        Cause::Timer => true,
        Cause::Softirq(name) => name == "timer" || name == "hrtimer",
        _ => false,
    }
}

/// Whether `words` are those of a timer.
pub(crate) fn is_timer(words: &str) -> bool {
    TIMERS.iter().any(|(_, known, _)| *known == words)
}

/// Whether the timer with these `words` sends a signal when it expires.
pub(crate) fn sends_signal(words: &str) -> bool {
    TIMERS.iter().any(|&(_, known, sends)| sends && known == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_known_by_their_functions() {
        assert_eq!(timer_of("tcp_delack_timer"), Some("TCP's delayed-ACK timer"));
        assert_eq!(timer_of("it_real_fn.cold"), Some("an interval timer"));
        assert_eq!(timer_of("hrtimer_wakeup"), None);
        let sending = ["posix_timer_fn", "it_real_fn"];
        let signals =
            |&(function, words, _): &(&str, &str, bool)| sending.contains(&function) == sends_signal(words);
        assert!(TIMERS.iter().all(signals));
    }
}
