//! How far back rings reach: what is longer than that is in no snapshot.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::Capture;
use model::{Cpu, TimeConversion, TscRange};
use perfdata::PerfData;

/// How far the rings of the CPU that has most to record reach back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) cpu: Cpu,
    pub(super) time: Duration,
}

/// That of the traces, where there are some, else that of the records.
pub(super) fn least(capture: &Capture<'_>) -> Option<Reach> {
    let conversion = capture.conversion()?;
    let stop = capture.extent()?.stop;
    let traced = capture.streams().filter_map(|stream| {
        let begin = stream.first_sync()?.tsc?;
        Some(Reach { cpu: stream.cpu()?, time: length(TscRange::new(begin, stop.max(begin)), conversion) })
    });
    traced.min_by_key(|reach| reach.time).or_else(|| of_records(capture.perf()))
}

/// From each CPU's first record to the last of all.
fn of_records(perf: &PerfData) -> Option<Reach> {
    let mut begins = BTreeMap::new();
    for record in perf.records() {
        if let (Some(cpu), Some(time)) = (record.cpu, record.time) {
            begins.entry(cpu).or_insert(time);
        }
    }
    let end = perf.time_range()?.end;
    let (cpu, begin) = begins.into_iter().max_by_key(|&(_, begin)| begin)?;
    Some(Reach { cpu, time: Duration::from_nanos(end.0.saturating_sub(begin.0)) })
}

fn length(range: TscRange, conversion: TimeConversion) -> Duration {
    Duration::from_nanos(conversion.duration_ns(range))
}

/// What to say of rings that reach back so far when they have been written since `recorded`: `None` where they hold an interval of
/// `least_ns` and what passes until perf writes them, and where they are not full yet.
pub(super) fn warning(reach: Reach, recorded: Duration, least_ns: u64, settles: Duration) -> Option<String> {
    let needed = Duration::from_nanos(least_ns).saturating_add(settles);
    let is_full = reach.time < recorded / 2;
    (is_full && reach.time < needed).then(|| {
        let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
        format!(
            "at this rate the ring of CPU {} holds {}, and a slow interval takes {} with the time until it is written: \
             record with larger buffers, such as -m 32M, or fewer events",
            reach.cpu.0,
            ms(reach.time),
            ms(needed)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit of 5 ms and 40 ms until the ring is written.
    #[test]
    fn a_ring_must_hold_the_interval_and_what_follows_until_it_is_written() {
        let (limit, settles) = (5_000_000, Duration::from_millis(40));
        let of = |reach: u64, recorded: u64| {
            let reach = Reach { cpu: Cpu(3), time: Duration::from_millis(reach) };
            warning(reach, Duration::from_millis(recorded), limit, settles)
        };
        assert_eq!(of(45, 1_000), None);
        // It has not been filled yet.
        assert_eq!(of(44, 60), None);
        let said = of(12, 1_000).expect("too small");
        assert!(
            said.starts_with(
                "at this rate the ring of CPU 3 holds 12.0 ms, and a slow interval takes 45.0 ms"
            ),
            "{said}"
        );
    }
}
