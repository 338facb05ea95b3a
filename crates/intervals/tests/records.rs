//! Intervals from the records and the PTWRITE packets of the emulated captures, against their `truth.json`, their
//! `intervals.csv` and the counts of the captures' README.

mod support;

use model::{Cpu, Interval, TimeConversion, Tsc};
use perfdata::PerfData;
use pt::{Occupant, Piece, PtConfig, PtStream};
use tailtrace_intervals::ptwrite::occurrences;
use tailtrace_intervals::{Clocks, EventPair, IntervalSet, from_events, from_ptwrites, read_interval_file};

use support::Unpacked;

struct Capture {
    folder: Unpacked,
    perf: PerfData,
    conversion: TimeConversion,
}

fn capture(name: &str) -> Option<Capture> {
    let folder = support::unpack(name)?;
    let perf = PerfData::open(&folder.path().join("perf.data")).expect("a perf.data");
    let conversion = perf.time_conversion().expect("a conversion");
    Some(Capture { folder, perf, conversion })
}

impl Capture {
    fn ptwrites(&self, spec: &str) -> IntervalSet {
        let intel_pt = self.perf.intel_pt().expect("Intel PT");
        let config = PtConfig {
            mtc_freq: self.perf.intel_pt_config().map_or(0, |config| config.mtc_period),
            nom_freq: u8::try_from(intel_pt.max_nonturbo_ratio).expect("a ratio"),
            tsc_ctc_ratio: Some((intel_pt.tsc_ctc_ratio_n, intel_pt.tsc_ctc_ratio_d))
                .filter(|ratio| ratio.1 != 0),
            ..PtConfig::default()
        };
        let mut found = Vec::new();
        for cpu in [Cpu(0), Cpu(1)] {
            let buffers = self.perf.aux_buffers().iter().filter(|buffer| buffer.cpu == Some(cpu));
            let pieces = buffers.map(|buffer| Piece {
                bytes: self.perf.aux_bytes(buffer),
                aux_offset: buffer.aux_offset,
                file_offset: buffer.file_offset,
            });
            let (stream, _) = PtStream::new(Some(cpu), None, pieces, false);
            let runs = self.perf.schedule().on_cpu(cpu);
            let occupant = |run: &perfdata::Run| Occupant {
                since: self.conversion.to_tsc(run.start),
                thread: run.thread,
            };
            let occupants: Vec<Occupant> = runs.map(occupant).collect();
            found.extend(occurrences(&stream, &config, &occupants));
        }
        from_ptwrites(&spec.parse().expect("a specification"), found, &|_, _| None)
    }

    fn csv(&self) -> IntervalSet {
        read_interval_file(&self.folder.path().join("intervals.csv"), &Clocks::default()).expect("a CSV")
    }

    fn ns_apart(&self, a: Tsc, b: Tsc) -> u64 {
        self.conversion.ticks_to_ns(a.max(b).since(a.min(b)))
    }
}

#[test]
fn pairs_of_ptwrites_are_the_rows_of_the_csv() {
    for name in ["fault", "preempt", "noise"] {
        let Some(capture) = capture(name) else { continue };
        let csv = capture.csv();
        let found = capture.ptwrites("begin=0x51,end=0x52,tag=56..63,id=32..55,ticks_low=0..31");
        assert_eq!(found.diagnostics, [], "{name}");
        assert_eq!(found.intervals.len(), csv.intervals.len(), "{name}");
        let mut far = 0;
        for (found, row) in found.intervals.iter().zip(&csv.intervals) {
            assert_eq!(
                (found.id, found.start_thread, found.stop_thread),
                (row.id, row.start_thread, row.stop_thread),
                "{name}"
            );
            let start = capture.ns_apart(found.range.start, row.range.start);
            let stop = capture.ns_apart(found.range.stop, row.range.stop);
            far += u32::from(start > 1_500 || stop > 1_500);
            // The end's payload repeats the duration in ticks as the program measured it.
            assert_eq!(ticks_low(found), row.range.ticks().0 & 0xffff_ffff, "{name}: {}", row.id);
        }
        // preempt's and noise's `mark_check` have a stop mark up to 28 us late: an interrupt between rdtsc and ptwrite.
        assert!(
            if name == "fault" { far == 0 } else { far <= 2 },
            "{name}: {far} marks are off by more than 1.5 us"
        );
    }
}

fn ticks_low(interval: &Interval) -> u64 {
    interval
        .counters
        .iter()
        .find(|counter| counter.name == "ticks_low")
        .and_then(|counter| u64::try_from(counter.value.as_whole()?).ok())
        .unwrap_or(0)
}

#[test]
fn stop_marks_of_the_queue() {
    for (name, count) in [("spsc_k8_150ms", 9000), ("spsc_k32_small", 400)] {
        let Some(capture) = capture(name) else { continue };
        let found = capture.ptwrites("id=40..63,ticks=0..39");
        assert_eq!((found.intervals.len(), found.diagnostics.len()), (count, 0), "{name}");
        let mut ids: Vec<u64> = found.intervals.iter().map(|interval| interval.id.0).collect();
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(0..count as u64), "{name}: each item once");
        assert!(found.intervals.iter().all(|interval| interval.start_thread.is_none()));
        let threads: std::collections::BTreeSet<_> =
            found.intervals.iter().map(|one| one.stop_thread).collect();
        assert_eq!(threads.len(), 1, "{name}: one consumer");
    }
}

fn pair(begin: &str, end: &str, key: Option<&str>) -> EventPair {
    EventPair { begin: begin.into(), end: end.into(), key: key.map(str::to_owned), phases: Vec::new() }
}

/// `truth.json` of `noise` says for each dirty interval how many timer interrupts hit it, and how long they took,
/// computed from `perf script`'s text.
#[test]
fn timer_interrupts_from_their_records() {
    let Some(capture) = capture("noise") else { return };
    let truth = std::fs::read_to_string(capture.folder.path().join("truth.json")).expect("the truth");
    let truth: serde_json::Value = serde_json::from_str(&truth).expect("JSON");
    let timer = pair("irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", None);
    let timers =
        from_events(&capture.perf, &timer, Some(capture.conversion)).expect("timer records").intervals;
    let rows = capture.csv().intervals;
    let mut checked = 0;
    for dirty in truth["not_planted_but_slow_or_dirty"].as_array().expect("a list") {
        let Some(expected) = dirty["sideband"]["irq_ns"]["local_timer"].as_array() else { continue };
        let row = rows.iter().find(|row| Some(row.id.0) == dirty["index"].as_u64()).expect("the row");
        let inside =
            |timer: &&Interval| timer.start_thread == row.start_thread && timer.range.overlaps(row.range);
        let durations: Vec<u64> =
            timers.iter().filter(inside).map(|timer| capture.conversion.duration_ns(timer.range)).collect();
        assert_eq!(durations.len() as u64, expected[0].as_u64().expect("a count"), "row {}", row.id);
        let off = durations.iter().sum::<u64>().abs_diff(expected[1].as_u64().expect("ns"));
        assert!(off <= durations.len() as u64, "row {}: {off} ns off", row.id);
        checked += 1;
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn system_calls_with_their_fields() {
    let Some(capture) = capture("fault") else { return };
    let calls = pair("raw_syscalls:sys_enter", "raw_syscalls:sys_exit", None);
    let set = from_events(&capture.perf, &calls, Some(capture.conversion)).expect("records");
    let entered = capture.perf.records().filter(|timed| match &timed.record {
        perfdata::Record::Sample(sample) => sample.event_name() == Some("raw_syscalls:sys_enter"),
        _ => false,
    });
    assert!(set.intervals.len() <= entered.count() && !set.intervals.is_empty());
    for call in &set.intervals {
        let value = |name: &str| {
            call.counters.iter().find(|counter| counter.name == name).map(|counter| counter.value)
        };
        assert!(value("id").is_some() && value("id") == value("end.id"), "{:?}", call.counters);
        assert!(call.record.is_some() && call.start_thread == call.stop_thread);
    }
}

#[test]
fn a_chain_of_one_event_and_what_cannot_be() {
    let Some(capture) = capture("fault") else { return };
    let switch = "sched:sched_switch";
    let conversion = Some(capture.conversion);
    let chain = from_events(&capture.perf, &pair(switch, switch, Some("next_pid")), conversion);
    let chain = chain.expect("switches").intervals;
    assert!(!chain.is_empty() && chain.iter().all(|interval| interval.key.is_some()));
    assert!(chain.iter().all(|interval| interval.counters.iter().any(|counter| counter.name == "prev_prio")));
    let error = from_events(&capture.perf, &pair("no:such", switch, None), conversion);
    assert!(error.expect_err("no such event").to_string().contains("sched:sched_switch"));
    let error = from_events(&capture.perf, &pair(switch, switch, Some("colour")), conversion);
    assert!(error.expect_err("no such field").to_string().contains("next_comm"));
    assert!(from_events(&capture.perf, &pair(switch, switch, None), None).is_err());
}
