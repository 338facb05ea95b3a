//! The lines of the capture check that speak of trace, schedule and clock, and what all lines are made of.

mod neighbours;
mod records;

use attribution::{Examined, Stay, Whereabouts};
use intervals::Unit;
use model::{Attribution, Cause, Ticks};
use perfdata::LeaveReason;
use pt::GapReason;
use report::{Check, CheckState, LostMarkers};

use crate::capture::{Capture, Recorded, SeenWindow};

/// What is asked about.
pub(crate) struct Subject<'s> {
    /// The capture.
    pub(crate) capture: &'s Capture<'s>,
    /// What was recorded, of which a slice has only a part.
    pub(crate) recorded: Recorded,
    /// Markers that the interval file does not hold.
    pub(crate) lost_markers: Option<LostMarkers>,
    /// Whether the recording's clocks disagree.
    pub(crate) clocks_disagree: bool,
    /// The interval.
    pub(crate) examined: &'s Examined,
    /// Its causes.
    pub(crate) attribution: &'s Attribution,
    /// What the decoder met while it was examined.
    pub(crate) seen: &'s [SeenWindow],
}

pub(super) fn check(name: &str, state: CheckState, detail: impl Into<String>) -> Check {
    Check { name: name.into(), state, detail: detail.into() }
}

/// A question without an answer, and why.
pub(super) fn not_known(name: &str, why: &str) -> Check {
    check(name, CheckState::Missing, format!("not known: {why}"))
}

/// `10.1 %` of `whole`; `<0.1 %` and `>99.9 %` keep rounding from lying.
pub(super) fn tenths(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    match (part * 2000 + whole) / (whole * 2) {
        0 if part > 0 => "<0.1 %".to_owned(),
        1000 if part < whole => ">99.9 %".to_owned(),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// CPUs or threads, each once: `1, 3`.
pub(super) fn listed(mut places: Vec<String>) -> String {
    places.sort_by_key(|place| (place.len(), place.clone()));
    places.dedup();
    places.join(", ")
}

const NO_PACKET: &str = "no packet in the interval's time";

impl Subject<'_> {
    /// The stays of which there could be trace, each with whether packets cover it.
    fn traceable(&self) -> impl Iterator<Item = (&Stay, bool)> {
        let own = self.examined.stays.iter().filter(|stay| {
            stay.traced_by()
                .is_some_and(|(cpu, thread)| cpu.is_some() || self.capture.stream(None, thread).is_some())
        });
        own.map(|stay| (stay, self.windows_of(stay).any(|window| window.any)))
    }

    fn windows_of(&self, stay: &Stay) -> impl Iterator<Item = &SeenWindow> {
        self.seen.iter().filter(move |window| window.is_of(stay))
    }

    /// The windows with packets.
    fn windows(&self) -> impl Iterator<Item = (&Stay, &SeenWindow)> {
        let of_stay = |stay| self.windows_of(stay).map(move |window| (stay, window));
        self.examined.stays.iter().flat_map(of_stay).filter(|(_, window)| window.any)
    }

    /// Whether all of its time is known to have passed on no CPU.
    fn is_off_cpu(&self) -> bool {
        let stays = &self.examined.stays;
        let is_off = |stay: &Stay| matches!(stay.place, Whereabouts::OffCpu(_) | Whereabouts::NotRun);
        !stays.is_empty() && stays.iter().all(is_off)
    }

    pub(super) fn trace(&self) -> Check {
        const NAME: &str = "PT";
        if self.is_off_cpu() {
            return check(NAME, CheckState::Good, "none needed: its thread was on no CPU");
        }
        if self.capture.perf().intel_pt().is_none() {
            return check(NAME, CheckState::Missing, "none was recorded: time on a CPU has no flow");
        }
        let place = |stay: &Stay| match (stay.place.cpu(), stay.thread) {
            (Some(cpu), _) => format!("CPU {cpu}"),
            (None, Some(thread)) => format!("thread {}", thread.tid),
            (None, None) => "?".to_owned(),
        };
        let (with, without): (Vec<_>, Vec<_>) = self.traceable().partition(|&(_, is_told)| is_told);
        let names = |stays: &[(&Stay, bool)]| listed(stays.iter().map(|&(stay, _)| place(stay)).collect());
        if with.is_empty() && without.is_empty() {
            return not_known(NAME, "the records do not show the CPU of its thread");
        }
        let traced: Vec<String> = with.iter().map(|&(stay, _)| place(stay)).collect();
        let silent: Vec<(&Stay, bool)> =
            without.into_iter().filter(|(stay, _)| !traced.contains(&place(stay))).collect();
        match (with.is_empty(), silent.is_empty()) {
            (_, true) => check(NAME, CheckState::Good, format!("trace of {}", names(&with))),
            (true, _) => {
                let detail = format!("no packet of {} in the interval's time", names(&silent));
                check(NAME, CheckState::Missing, detail)
            }
            (false, false) => {
                let detail = format!("trace of {}; no packet of {}", names(&with), names(&silent));
                check(NAME, CheckState::Partial, detail)
            }
        }
    }

    pub(super) fn loss(&self) -> Check {
        const NAME: &str = "loss";
        let lost: u64 = (self.attribution.segments().iter())
            .filter(|segment| segment.cause == Cause::TraceLoss)
            .map(|segment| segment.range.ticks().0)
            .sum();
        if lost > 0 {
            let share = tenths(lost, self.attribution.ticks().0);
            check(NAME, CheckState::Partial, format!("{share} of the interval's time"))
        } else if self.windows().next().is_some()
            || self.is_off_cpu()
            || self.capture.perf().intel_pt().is_none()
        {
            check(NAME, CheckState::Good, "none")
        } else {
            not_known(NAME, NO_PACKET)
        }
    }

    pub(super) fn cycles(&self) -> Check {
        const NAME: &str = "CYC";
        if self.windows().next().is_none() {
            return not_known(NAME, NO_PACKET);
        }
        let has_cycles = |(stay, window): (&Stay, &SeenWindow)| {
            let (cpu, thread) = stay.traced_by()?;
            Some(window.has_cycles(self.capture.stream(cpu, thread)?))
        };
        if self.windows().any(|of_stay| has_cycles(of_stay) == Some(true)) {
            return check(NAME, CheckState::Good, "time to the cycle");
        }
        let detail = if self.capture.has_cyc() {
            "no CYC packet in the interval's time, though they were requested: time only as fine as MTC and TSC packets"
        } else {
            "time only as fine as MTC and TSC packets: record with cyc=1"
        };
        check(NAME, CheckState::Missing, detail)
    }

    /// Without code bytes a stretch cannot be decoded.
    pub(super) fn code(&self) -> Check {
        const NAME: &str = "code bytes";
        match self.examined.gaps().filter(|reason| matches!(reason, GapReason::NoCode { .. })).count() {
            0 if self.windows().next().is_none() => not_known(NAME, "nothing was decoded"),
            0 => check(NAME, CheckState::Good, "none missing where decoded"),
            count => {
                let places = report::counted(count as u64, "place");
                let detail = format!("missing in {places}: name the binaries with --symfs or --vmlinux");
                check(NAME, CheckState::Partial, detail)
            }
        }
    }

    pub(super) fn kernel(&self) -> Check {
        const NAME: &str = "kernel trace";
        let ran = |is_kernel: bool| {
            self.windows().any(|(_, window)| if is_kernel { window.kernel } else { window.user })
        };
        match (self.capture.kernel_traced(), ran(true), ran(false)) {
            (false, ..) => {
                check(NAME, CheckState::Missing, "user code only: kernel time is known from records alone")
            }
            (true, true, true) => check(NAME, CheckState::Good, "kernel and user code traced"),
            (true, true, false) => check(NAME, CheckState::Good, "kernel code traced; no user code ran"),
            (true, false, true) => check(NAME, CheckState::Good, "requested; only user code ran"),
            (true, false, false) if self.windows().next().is_some() => {
                not_known(NAME, "no code of the interval's time could be decoded")
            }
            (true, false, false) => not_known(NAME, NO_PACKET),
        }
    }

    pub(super) fn schedule(&self) -> Check {
        const NAME: &str = "schedule";
        if self.capture.conversion().is_none() {
            return not_known(NAME, "the TSC to perf-time conversion is missing");
        }
        if !self.recorded.kinds.tell_switches() {
            return not_known(NAME, &self.without_switches());
        }
        let all = self.examined.interval.range.ticks();
        let unknown = self.unknown();
        if self.is_outside() || unknown >= all {
            return not_known(NAME, "no switch record of the interval's time and thread");
        }
        let mut doubts = Vec::new();
        if !self.examined.is_consistent() {
            doubts.push("the trace and the switch records contradict each other".to_owned());
        }
        if unknown.0 > 0 {
            let (length, at) = (self.shown(unknown), self.shown(self.unknown_from()));
            doubts.push(format!(
                "the records do not say where the thread was for {length}, first {at} after its start"
            ));
        }
        let is_off = |stay: &Stay| matches!(stay.place, Whereabouts::OffCpu(_));
        let leaves = self.examined.stays.iter().any(is_off);
        if let Some((seen, cpus)) = self.capture.cpus_seen().filter(|_| leaves) {
            doubts.push(format!(
                "{seen} of {cpus} CPUs are recorded: off these the thread may have run on another"
            ));
        }
        if doubts.is_empty() {
            check(NAME, CheckState::Good, "switch records cover the interval")
        } else {
            check(NAME, CheckState::Partial, doubts.join("; "))
        }
    }

    /// What is unknown without switch records. Where the kernel was traced, too, its own switches are in the flow.
    fn without_switches(&self) -> String {
        let told = self.capture.kernel_traced() || self.capture.perf().asks_for_switches();
        let untold = match (told, self.capture.threads_traced()) {
            (true, _) => "",
            (false, true) => "; whether the thread was on its CPU where tracing was off is unknown",
            (false, false) => {
                "; whether the thread was on its CPU where tracing was off is unknown, and what others run there may be taken \
                 for its own"
            }
        };
        format!("there are no switch records: record with --switch-events{untold}")
    }

    /// The stays in which it is unknown where the interval's thread was, or whether it was on its CPU.
    fn untold(&self) -> impl Iterator<Item = &Stay> {
        let is_untold =
            |place| matches!(place, Whereabouts::Unknown | Whereabouts::OffCpu(LeaveReason::Unknown));
        self.examined.stays.iter().filter(move |stay| is_untold(stay.place))
    }

    /// How long they are.
    pub(super) fn unknown(&self) -> Ticks {
        Ticks(self.untold().map(|stay| stay.range.ticks().0).sum())
    }

    /// How long after the interval's start the first one begins.
    fn unknown_from(&self) -> Ticks {
        let first = self.untold().next().map(|stay| stay.range.start);
        Ticks(first.map_or(0, |first| first.0.saturating_sub(self.examined.interval.range.start.0)))
    }

    /// A length in words.
    fn shown(&self, ticks: Ticks) -> String {
        match self.capture.conversion() {
            Some(conversion) => Unit::Nanoseconds.show(conversion.ticks_to_ns(ticks)),
            None => Unit::Ticks.show(ticks.0),
        }
    }

    pub(super) fn clock(&self) -> Check {
        match self.capture.conversion() {
            Some(_) if self.clocks_disagree => check(
                "clock",
                CheckState::Partial,
                "TSC to perf-time conversion available, but clocks disagree: see the diagnostics",
            ),
            Some(_) => check("clock", CheckState::Good, "TSC to perf-time conversion available"),
            None => check("clock", CheckState::Missing, "TSC to perf-time conversion missing"),
        }
    }
}

#[cfg(test)]
mod tests;
