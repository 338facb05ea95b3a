//! What the trial recording found: the rate of the trace, what was lost, and the options that lose less.
//!
//! Source: perf-intel-pt(1): `cyc_thresh` (2^(value-1) cycles between two CYC packets at least), `-m` (the AUX buffer, a power of
//! two), address filters.

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};
use crate::doctor::trial::Trial;
use crate::machine::pt::Pt;
use crate::record::buffers::Buffers;

/// perf empties a buffer that is half full; half a second of trace is room for one that waits for the disk.
const ROOM_DIVISOR: u64 = 2;
/// Values of `cyc_thresh` below this hardly thin the packets out.
const THINNED: u32 = 4;

/// The trial, where there was one.
pub(super) fn trial(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "trial";
    let trial = match machine.trial.as_ref()? {
        Ok(trial) => trial,
        Err(said) => {
            let means = "tailtrace record would fail in the same way";
            return Some(Finding::of(Level::Stops, CHECK, format!("perf failed: {said}"), means));
        }
    };
    let Some((cpu, most)) = trial.busiest() else {
        let means = "perf recorded, but without trace: does another program use Intel PT?";
        return Some(Finding::of(Level::Warning, CHECK, "no CPU wrote any trace", means));
    };
    let (all, most) = (trial.in_a_second(trial.bytes.values().sum()), trial.in_a_second(most));
    let rates = format!("the trace has {} a second, {} of them CPU {cpu}", megabytes(all), megabytes(most));
    let is_lossy = trial.full_buffers > 0 || trial.lost_records > 0;
    let is_slow = machine.storage.bytes_per_second.is_some_and(|disk| disk < all);
    Some(if is_lossy {
        let lost = losses(trial);
        let means = "what was lost is a gap, and intervals in it have no explanation";
        let finding = Finding::of(Level::Warning, CHECK, format!("{rates}; {lost}"), means);
        choices(machine.described_pt(), machine.buffers, most).into_iter().fold(finding, Finding::mended_by)
    } else if is_slow {
        let means = "the disk takes less: the buffers fill up, and trace is lost";
        let finding = Finding::of(Level::Warning, CHECK, rates, means);
        choices(machine.described_pt(), machine.buffers, most).into_iter().fold(finding, Finding::mended_by)
    } else {
        Finding::fine(CHECK, format!("{rates}; nothing was lost"))
    })
}

fn losses(trial: &Trial) -> String {
    let full = report::counted(trial.full_buffers, "time");
    let records = report::counted(trial.lost_records, "record");
    match (trial.full_buffers, trial.lost_records) {
        (_, 0) => format!("a buffer was full {full}"),
        (0, _) => format!("{records} were lost"),
        _ => format!("a buffer was full {full}, and {records} were lost"),
    }
}

/// Commands that lose less, for `rate` bytes a second on the busiest CPU: larger buffers, fewer packets, less code.
fn choices(pt: Option<&Pt>, buffers: Buffers, rate: u64) -> Vec<String> {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20).max(1);
    let (records, trace) = (mib(buffers.records), mib(buffers.trace));
    let wanted = (rate / ROOM_DIVISOR).div_ceil(1 << 20).next_power_of_two();
    let larger = wanted.clamp((trace * 2).min(1 << 10), 1 << 10);
    let mut commands = vec![format!("tailtrace record -m {}M,{larger}M -- ./program", records * 2)];
    let thresholds = pt.map_or(0, |pt| pt.cycle_thresholds);
    if let Some(value) = (THINNED..16).find(|value| thresholds >> value & 1 == 1) {
        let event = format!("intel_pt/cyc=1,cyc_thresh={value},mtc_period=0,noretcomp=1/");
        commands.push(format!("tailtrace record -e {event} -- ./program"));
    }
    if pt.is_some_and(|pt| pt.address_ranges > 0) {
        commands.push(
            "tailtrace record -e intel_pt/cyc=1/u --filter 'filter * @ /path/of/program' -- ./program"
                .to_owned(),
        );
    }
    commands
}

fn megabytes(bytes: u64) -> String {
    if bytes < 10_000_000 {
        format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
    } else {
        format!("{} MB", bytes / 1_000_000)
    }
}
