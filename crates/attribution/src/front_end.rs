//! Samples that say that the front end starved: PEBS `frontend_retired`, and counters of the instruction fetch.
//!
//! Input: an interval and the records. Output: how many such samples its threads took in it. Event names: Intel's
//! perfmon files (`FRONTEND_RETIRED.*`, `TOPDOWN_FE_BOUND.*`, `ICACHE*`, `IDQ_UOPS_NOT_DELIVERED.*`), as perf writes them
//! into the file. No capture at hand holds any: format-tested only.

use model::{Interval, PerfTime, TimeConversion};
use perfdata::{PerfData, Record};

/// How many samples of a front-end event the threads of `interval` took within it.
pub(crate) fn samples(perf: &PerfData, interval: &Interval, conversion: Option<TimeConversion>) -> u64 {
    let Some(conversion) = conversion else { return 0 };
    if !perf.attrs().iter().any(|attr| attr.name.as_deref().is_some_and(is_front_end_event)) {
        return 0;
    }
    let from = conversion.to_perf_time(interval.range.start);
    let to = PerfTime(conversion.to_perf_time(interval.range.stop).0);
    let threads = [interval.start_thread, interval.stop_thread];
    let counted = perf.records_in(from..to).filter(|timed| {
        let Record::Sample(sample) = &timed.record else { return false };
        let own =
            timed.thread.is_some_and(|thread| threads.iter().flatten().any(|known| known.tid == thread.tid));
        own && sample.event_name().is_some_and(is_front_end_event)
    });
    counted.count() as u64
}

/// Whether samples of the event `name` tell that instructions did not arrive in time.
fn is_front_end_event(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    ["frontend_retired", "topdown_fe_bound", "icache", "idq_uops_not_delivered", "idq_bubbles"]
        .iter()
        .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_by_intels_names_as_perf_writes_them() {
        for name in [
            "frontend_retired.l1i_miss:upp",
            "cpu/FRONTEND_RETIRED.LATENCY_GE_32/pp",
            "cpu_core/topdown-fe-bound/",
            "icache_64b.iftag_stall",
        ] {
            assert!(is_front_end_event(name), "{name}");
        }
        for name in ["cycles:u", "sched:sched_switch", "topdown-be-bound", "mem_inst_retired.all_loads"] {
            assert!(!is_front_end_event(name), "{name}");
        }
    }
}
