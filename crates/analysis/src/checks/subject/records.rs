//! Whether the interval's marks lie within the recording, and which kinds of records there are.

use intervals::Unit;
use report::{Check, CheckState};

use super::{Subject, check, not_known};

impl Subject<'_> {
    /// By how many nanoseconds the interval begins before the recording and ends after it; `None` without a
    /// TSC to perf-time conversion.
    fn beyond(&self) -> Option<(u64, u64)> {
        let (conversion, range) = (self.capture.conversion()?, self.examined.interval.range);
        let time = |tsc| conversion.to_perf_time(tsc);
        Some(self.recorded.beyond(time(range.start), time(range.stop)))
    }

    /// Whether all of the interval lies before or after all that was recorded.
    pub(super) fn is_outside(&self) -> bool {
        let Some(conversion) = self.capture.conversion() else { return false };
        let length = conversion.duration_ns(self.examined.interval.range).max(1);
        self.beyond().is_some_and(|(before, after)| before >= length || after >= length)
    }

    pub(in crate::checks) fn marks(&self) -> Check {
        const NAME: &str = "marks";
        let Some((before, after)) = self.beyond() else {
            return not_known(NAME, "the records cannot be matched with the markers' clock");
        };
        let length = |ns| Unit::Nanoseconds.show(ns);
        let beyond: Vec<String> = [(before, "begins", "before"), (after, "ends", "after")]
            .into_iter()
            .filter(|&(ns, ..)| ns > 0)
            .map(|(ns, does, side)| {
                format!("the interval {does} {} {side} all records and trace", length(ns))
            })
            .collect();
        match self.lost_markers {
            None if beyond.is_empty() => return check(NAME, CheckState::Good, "within the recording"),
            Some(lost) if beyond.is_empty() => {
                let detail = format!("within the recording; {lost}: stages and counters may be among them");
                return check(NAME, CheckState::Partial, detail);
            }
            _ => {}
        }
        let detail = beyond.join(", and ");
        if self.is_outside() {
            let detail =
                format!("{detail}: nothing was recorded of it; are the markers from this recording?");
            check(NAME, CheckState::Missing, detail)
        } else {
            check(NAME, CheckState::Partial, detail)
        }
    }

    /// Which kinds of records there are, and what is unknown without the others.
    pub(in crate::checks) fn records(&self) -> Check {
        let kinds = self.recorded.kinds;
        let all = [
            (kinds.tell_switches(), "switches", "--switch-events", "when a thread was off its CPU"),
            (kinds.wakings, "wake-ups", "sched:sched_waking", "the waking thread and the run-queue time"),
            (kinds.irqs, "interrupts", "irq:irq_handler_entry", "the interrupting device"),
            (kinds.softirqs, "softirqs", "irq:softirq_entry", "the softirqs where there is no kernel trace"),
            (kinds.syscalls, "system calls", "raw_syscalls:*", "their arguments (futexes, descriptors)"),
        ];
        let mut missing: Vec<String> = (all.iter().filter(|kind| !kind.0))
            .map(|(_, name, event, unknown)| format!("no {name} ({event}), so unknown: {unknown}"))
            .collect();
        if missing.len() == all.len() {
            return check("records", CheckState::Missing, missing.join("; "));
        }
        if kinds.of_threads {
            missing
                .push("of the recorded threads only (record with -a): other threads are unknown".to_owned());
        }
        if missing.is_empty() {
            return check("records", CheckState::Good, "all recommended events");
        }
        check("records", CheckState::Partial, missing.join("; "))
    }
}
