//! What the capture can tell about one interval: a line each on PT, loss, CYC, code bytes, kernel trace and clock.

use attribution::{Examined, Whereabouts};
use model::{Attribution, Cause};
use report::{Check, CheckState};

use crate::capture::Capture;

/// The checks of one interval.
pub(crate) fn of(capture: &Capture<'_>, examined: &Examined, attribution: &Attribution) -> Vec<Check> {
    vec![
        trace(capture, examined),
        loss(attribution),
        cycles(capture),
        kernel(capture),
        schedule(examined),
        clock(capture),
    ]
}

fn check(name: &str, state: CheckState, detail: impl Into<String>) -> Check {
    Check { name: name.into(), state, detail: detail.into() }
}

fn trace(capture: &Capture<'_>, examined: &Examined) -> Check {
    let mut cpus: Vec<_> = examined
        .stays
        .iter()
        .filter_map(|stay| match stay.place {
            Whereabouts::OnCpu(cpu) => Some(cpu),
            Whereabouts::OffCpu(_) | Whereabouts::Unknown => None,
        })
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    let missing: Vec<String> =
        cpus.iter().filter(|&&cpu| !capture.has_trace(cpu)).map(ToString::to_string).collect();
    let on = cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (cpus.is_empty(), missing.is_empty()) {
        (true, _) => {
            check("PT", CheckState::Missing, "the interval's thread was on no CPU that the records tell")
        }
        (false, true) => check("PT", CheckState::Good, format!("trace of CPU {on}")),
        (false, false) => check("PT", CheckState::Partial, format!("no trace of CPU {}", missing.join(", "))),
    }
}

fn loss(attribution: &Attribution) -> Check {
    let lost: u64 = attribution
        .segments()
        .iter()
        .filter(|segment| segment.cause == Cause::TraceLoss)
        .map(|segment| segment.range.ticks().0)
        .sum();
    let whole = attribution.ticks().0.max(1);
    if lost == 0 {
        check("loss", CheckState::Good, "none")
    } else {
        let tenths = u128::from(lost) * 1000 / u128::from(whole);
        let share = format!("{}.{} % of the interval's time", tenths / 10, tenths % 10);
        check("loss", CheckState::Partial, share)
    }
}

fn cycles(capture: &Capture<'_>) -> Check {
    if capture.has_cyc() {
        check("CYC", CheckState::Good, "time to the cycle")
    } else {
        check("CYC", CheckState::Missing, "time only as fine as MTC and TSC packets: record with cyc=1")
    }
}

fn kernel(capture: &Capture<'_>) -> Check {
    if capture.kernel_traced() {
        check("kernel trace", CheckState::Good, "kernel and user code traced")
    } else {
        check("kernel trace", CheckState::Missing, "user code only: kernel time is known from records alone")
    }
}

fn schedule(examined: &Examined) -> Check {
    let known = examined.stays.iter().all(|stay| stay.place != Whereabouts::Unknown);
    if known {
        check("schedule", CheckState::Good, "switch records cover the interval")
    } else {
        check("schedule", CheckState::Partial, "the records do not say where the thread was all the time")
    }
}

fn clock(capture: &Capture<'_>) -> Check {
    match capture.conversion() {
        Some(_) => check("clock", CheckState::Good, "TSC and perf time joined"),
        None => check("clock", CheckState::Missing, "TSC and perf time cannot be joined"),
    }
}
