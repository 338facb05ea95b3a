//! What the capture can tell about one interval: a line each on PT, loss, CYC, code bytes, kernel trace, clock, and
//! who else ran on its CPU and on the other hyper-thread of its core.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use attribution::{Examined, Whereabouts};
use intervals::Unit;
use model::{Attribution, Cause, ThreadId, Tsc};
use pt::GapReason;
use report::{Check, CheckState};

use crate::capture::Capture;
use crate::topology::Topology;

/// Threads that are named of those that ran beside an interval.
const NEIGHBOURS_NAMED: usize = 3;

/// The checks of one interval.
pub(crate) fn of(capture: &Capture<'_>, examined: &Examined, attribution: &Attribution) -> Vec<Check> {
    vec![
        trace(capture, examined),
        loss(attribution),
        cycles(capture),
        code(examined),
        kernel(capture),
        schedule(examined),
        clock(capture),
        neighbours(capture, examined),
    ]
}

fn check(name: &str, state: CheckState, detail: impl Into<String>) -> Check {
    Check { name: name.into(), state, detail: detail.into() }
}

fn trace(capture: &Capture<'_>, examined: &Examined) -> Check {
    let mut cpus: Vec<_> = examined.stays.iter().filter_map(|stay| stay.place.cpu()).collect();
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

/// Without code bytes a stretch cannot be decoded.
fn code(examined: &Examined) -> Check {
    match examined.gaps().filter(|reason| matches!(reason, GapReason::NoCode { .. })).count() {
        0 => check("code bytes", CheckState::Good, "none missing where decoded"),
        count => {
            let detail = format!("missing in {count} places: name the binaries with --symfs or --vmlinux");
            check("code bytes", CheckState::Partial, detail)
        }
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
    if !examined.is_consistent() {
        return check(
            "schedule",
            CheckState::Partial,
            "the trace and the switch records contradict each other",
        );
    }
    let known = examined.stays.iter().all(|stay| stay.place != Whereabouts::Unknown);
    if known {
        check("schedule", CheckState::Good, "switch records cover the interval")
    } else {
        check("schedule", CheckState::Partial, "the records do not say where the thread was all the time")
    }
}

fn clock(capture: &Capture<'_>) -> Check {
    match capture.conversion() {
        Some(_) if !capture.clock_findings().is_empty() => check(
            "clock",
            CheckState::Partial,
            "TSC and perf time joined, but clocks disagree: see the diagnostics",
        ),
        Some(_) => check("clock", CheckState::Good, "TSC and perf time joined"),
        None => check("clock", CheckState::Missing, "TSC and perf time cannot be joined"),
    }
}

/// Who ran on the interval's CPUs while its thread was off them, and beside it on the same core.
fn neighbours(capture: &Capture<'_>, examined: &Examined) -> Check {
    const NAME: &str = "neighbours";
    let Some(conversion) = capture.conversion() else {
        return check(NAME, CheckState::Missing, "the records cannot be joined with the trace");
    };
    let topology = Topology::new(capture.perf().features());
    let (mut on_cpu, mut beside) = (BTreeMap::new(), BTreeMap::new());
    let mut siblings_known = true;
    for stay in &examined.stays {
        let ran = |cpu| attribution::ran_on(capture.perf().schedule(), cpu, stay.range, conversion);
        match stay.place {
            Whereabouts::OnCpu(cpu) => {
                let siblings = topology.siblings(cpu);
                siblings_known &= siblings.is_some();
                add(&mut beside, siblings.into_iter().flatten().flat_map(ran));
            }
            Whereabouts::OffCpu(_) => add(&mut on_cpu, stay.left_cpu.into_iter().flat_map(ran)),
            Whereabouts::Unknown => {}
        }
    }
    let at = examined.interval.range.start;
    let own = format!("on its CPU meanwhile {}", tell(&on_cpu, capture, at));
    if siblings_known {
        let detail = format!("{own}; on the sibling hyper-thread {}", tell(&beside, capture, at));
        check(NAME, CheckState::Good, detail)
    } else {
        let detail = format!("{own}; which CPUs share a core is not in the capture");
        check(NAME, CheckState::Partial, detail)
    }
}

/// Adds up who ran for how many nanoseconds; the idle task is nobody.
fn add(sums: &mut BTreeMap<ThreadId, u64>, ran: impl Iterator<Item = (ThreadId, u64)>) {
    for (thread, ns) in ran.filter(|(thread, _)| !thread.is_idle()) {
        *sums.entry(thread).or_default() += ns;
    }
}

/// The three longest, with their times.
fn tell(sums: &BTreeMap<ThreadId, u64>, capture: &Capture<'_>, at: Tsc) -> String {
    let mut longest: Vec<(&ThreadId, &u64)> = sums.iter().collect();
    longest.sort_by_key(|&(thread, ns)| (Reverse(*ns), *thread));
    let name = |thread: ThreadId| capture.comm(thread, at).unwrap_or_default();
    let one = |(&thread, &ns): (&ThreadId, &u64)| {
        format!("{} (tid {}) for {}", name(thread), thread.tid, Unit::Nanoseconds.show(ns))
    };
    let told: Vec<String> = longest.into_iter().take(NEIGHBOURS_NAMED).map(one).collect();
    match sums.len() {
        0 => "nobody".to_owned(),
        count if count > NEIGHBOURS_NAMED => {
            format!("{} and {} more", told.join(", "), count - NEIGHBOURS_NAMED)
        }
        _ => told.join(", "),
    }
}
