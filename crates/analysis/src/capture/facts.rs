//! What a report says of the recording: machine, kernel, perf, the trace's configuration, losses.

use model::TimeConversion;
use perfdata::{IntelPtConfig, LossKind, PerfData};
use report::{CaptureFacts, Timebase};

/// The circumstances of the recording that the user named `path`.
pub(super) fn of(perf: &PerfData, path: &str) -> CaptureFacts {
    let features = perf.features();
    let (lost_records, truncated_aux) = losses(perf);
    CaptureFacts {
        lost_records: Some(lost_records),
        truncated_aux: Some(truncated_aux),
        path: Some(path.to_owned()),
        hostname: features.hostname.clone(),
        os_release: features.os_release.clone(),
        perf_version: features.perf_version.clone(),
        arch: features.arch.clone(),
        cpu_desc: features.cpu_description.clone(),
        cpuid: features.cpu_id.clone(),
        cmdline: features.command_line.as_ref().map(|words| words.join(" ")),
        cpus: features.cpus_online.map(u64::from),
        tsc_hz: perf
            .time_conversion()
            .filter(|&conversion| conversion != TimeConversion::NANOSECONDS)
            .map(TimeConversion::tsc_hz),
        pt_config: perf.intel_pt_config().map_or_else(Vec::new, terms),
        duration_ns: duration_ns(perf, perf.time_conversion()),
        time_unit: Timebase::new(perf.time_conversion(), None).unit(),
        trace_bytes: Some(perf.aux_buffers().iter().map(|buffer| buffer.size).sum()),
    }
}

/// From the first record to the last. Without a conversion the report is in ticks, and records' times are not.
fn duration_ns(perf: &PerfData, conversion: Option<TimeConversion>) -> Option<u64> {
    let range = conversion.and_then(|_| perf.time_range())?;
    Some(range.end.0.saturating_sub(range.start.0))
}

/// How many records (and samples) the kernel lost, and in how many places it lost AUX bytes.
fn losses(perf: &PerfData) -> (u64, u64) {
    perf.loss().iter().fold((0, 0), |(records, aux), loss| match loss.kind {
        LossKind::Records { count } | LossKind::Samples { count } => (records.saturating_add(count), aux),
        LossKind::Aux { .. } => (records, aux + 1),
    })
}

/// The configuration in perf's own terms, those that are on.
fn terms(config: IntelPtConfig) -> Vec<String> {
    let flags = [
        (config.tsc, "tsc"),
        (config.cyc, "cyc"),
        (config.mtc, "mtc"),
        (config.noretcomp, "noretcomp"),
        (config.ptw, "ptw"),
        (config.fup_on_ptw, "fup_on_ptw"),
        (config.pwr_evt, "pwr_evt"),
        (config.branch, "branch"),
        (config.event, "event"),
        (config.notnt, "notnt"),
    ];
    let mut terms: Vec<String> =
        flags.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.to_owned()).collect();
    let numbers = [
        (config.mtc, "mtc_period", config.mtc_period),
        (config.cyc, "cyc_thresh", config.cyc_threshold),
        (true, "psb_period", config.psb_period),
    ];
    terms.extend(numbers.into_iter().filter(|(on, ..)| *on).map(|(_, name, n)| format!("{name}={n}")));
    terms
}
