//! Traces that others wrote, against what their programs say of each span.
//!
//! * `requests.pftrace`: by the Perfetto SDK (crate `perfetto-sdk` 1.2, SDK 59) in `fixtures/programs/perfetto.rs`, without the packets
//!   that name the machine. `requests.csv` has readings of `CLOCK_BOOTTIME` before and after each begin and each end.
//! * `tasks.trace.zst`: by Go 1.26's `runtime/trace` in `fixtures/programs/requests.go`; `tasks.csv` has readings of `CLOCK_MONOTONIC`.
//! * `flight.jfr.zst`: by `OpenJDK` 17 in `fixtures/programs/Requests.java`; `flight.csv` has readings of `CLOCK_REALTIME`.
//! * `profiled.jfr.zst`: by async-profiler 4.5 in `fixtures/programs/ProfiledSpans.java`; `profiled.csv` has readings of `CLOCK_MONOTONIC`.
//! * `events.ctf.zst`: by `LTTng-UST` 2.13 in `fixtures/programs/shop_events.c`; `events.csv` has readings of `CLOCK_MONOTONIC`. `babeltrace.ctf.zst` is
//!   what babeltrace2 2.0.4 made of the same trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Interval, Number, Tsc, TscRange};
use tailtrace_intervals::{Clock, ClockPair, Clocks, IntervalSet, read_intervals};

/// Name and what else distinguishes it; then by time.
type Slices = BTreeMap<Vec<String>, Vec<[u64; 4]>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spans")
}

/// The last four columns are times.
fn stated(file: &str) -> Slices {
    let text = std::fs::read_to_string(folder().join(file)).expect("readable");
    let mut slices = Slices::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (name, times) = cells.split_at(cells.len() - 4);
        let times: Vec<u64> = times.iter().map(|time| time.parse().expect("a time")).collect();
        let named = name.iter().map(|&cell| cell.to_owned()).collect();
        slices.entry(named).or_default().push(times.try_into().expect("four"));
    }
    for slices in slices.values_mut() {
        slices.sort_unstable();
    }
    slices
}

/// A nanosecond is a tick.
fn read(bytes: &[u8], clock: Clock) -> IntervalSet {
    let pair = |ns: u64| ClockPair { clock, tsc: Tsc(ns), ns, error_ns: 0 };
    let clocks = Clocks { pairs: vec![pair(0), pair(1 << 62)], ..Clocks::default() };
    read_intervals(Path::new("spans"), bytes, &clocks).expect("readable")
}

/// Each begin and end lies between the readings around it.
#[track_caller]
fn assert_stated(set: &IntervalSet, stated: &Slices, named: impl Fn(&Interval) -> Vec<String>) {
    let mut read = BTreeMap::new();
    for interval in &set.intervals {
        let times = (interval.range.start.0, interval.range.stop.0);
        read.entry(named(interval)).or_insert_with(Vec::new).push(times);
    }
    assert_eq!(read.keys().collect::<Vec<_>>(), stated.keys().collect::<Vec<_>>());
    for (slice, stated) in stated {
        assert_eq!(read[slice].len(), stated.len(), "{slice:?}");
        for (&(start, stop), &[after, before, stop_after, stop_before]) in read[slice].iter().zip(stated) {
            assert!((after..=before).contains(&start), "{slice:?}: {after} {start} {before}");
            assert!(
                (stop_after..=stop_before).contains(&stop),
                "{slice:?}: {stop_after} {stop} {stop_before}"
            );
        }
    }
}

#[test]
fn a_perfetto_trace_has_the_slices_that_its_program_made() {
    let trace = std::fs::read(folder().join("requests.pftrace")).expect("readable");
    let set = read(&trace, Clock::Boottime);
    assert_stated(&set, &stated("requests.csv"), |interval| {
        let tids = [interval.start_thread, interval.stop_thread].map(|thread| thread.expect("known").tid.0);
        vec![interval.label.to_string(), tids[0].to_string(), tids[1].to_string()]
    });
    // 2 threads of 20 requests with a look-up each; 5 transfers from one thread to another.
    assert_eq!(set.intervals.len(), 85);
    let request = set.intervals.iter().find(|one| one.label == "request").expect("one");
    let counters: Vec<&str> = request.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(counters, ["key", "delta", "load"]);
    assert_eq!((request.attributes.len(), request.children.len()), (2, 1));
}

/// Go counts units of 64 ns: a time may be so much earlier than it was.
#[test]
fn an_execution_trace_has_the_tasks_and_regions_that_its_program_made() {
    let packed = std::fs::File::open(folder().join("tasks.trace.zst")).expect("there");
    let trace = zstd::decode_all(packed).expect("zstd");
    let mut set = read(&trace, Clock::Monotonic);
    assert_eq!(set.intervals.len(), 4 * 10 * 3);
    let numbers: BTreeMap<String, String> = set
        .intervals
        .iter()
        .filter(|one| one.label == "request")
        .map(|one| (one.key.clone().expect("a task"), one.attributes[0].value.clone()))
        .collect();
    let request = set.intervals.iter().find(|one| one.label == "request").expect("one");
    let children: Vec<(&str, u64)> =
        request.children.iter().map(|child| (child.label.as_str(), child.spans)).collect();
    assert_eq!(children, [("lookup", 1)]);
    let lookup = set.intervals.iter().find(|one| one.label == "lookup").expect("one");
    assert_eq!(lookup.children[0].label, "parse");
    // The middle of the unit.
    for interval in &mut set.intervals {
        interval.range =
            TscRange { start: Tsc(interval.range.start.0 + 32), stop: Tsc(interval.range.stop.0 + 32) };
    }
    let mut stated = stated("tasks.csv");
    for times in stated.values_mut().flatten() {
        *times = [times[0] - 32, times[1] + 32, times[2] - 32, times[3] + 32];
    }
    set.intervals.retain(|one| one.label != "parse");
    assert_stated(&set, &stated, |interval| {
        let number = &numbers[interval.key.as_deref().expect("a task")];
        let is_bound = number.parse::<u32>().expect("a number") < 200;
        let threads =
            [interval.start_thread, interval.stop_thread].map(|thread| thread.expect("known").tid.0);
        assert!(!is_bound || threads[0] == threads[1]);
        vec![interval.label.to_string(), number.clone(), if is_bound { threads[0] } else { 0 }.to_string()]
    });
}

/// As `LTTng` wrote it, and as babeltrace2 did.
#[test]
fn a_ctf_trace_has_the_pairs_of_events_that_its_program_made() {
    for file in ["events.ctf.zst", "babeltrace.ctf.zst"] {
        let trace = zstd::decode_all(std::fs::File::open(folder().join(file)).expect("there")).expect("zstd");
        let set = read(&trace, Clock::Monotonic);
        // 2 threads of 20 orders with a step each; 5 transfers from one thread to another.
        assert_eq!(set.intervals.len(), 85, "{file}: {:?}", set.diagnostics);
        let named = |key: &str, one: &Interval| {
            let tids = [one.start_thread, one.stop_thread].map(|thread| thread.expect("known").tid.0);
            vec![one.label.to_string(), key.to_owned(), tids[0].to_string(), tids[1].to_string()]
        };
        // Steps have no key: their share is a quarter of it.
        assert_stated(&set, &stated("events.csv"), |one| match &one.key {
            Some(key) => named(key, one),
            None => named(
                &format!("{}", 4.0 * one.counters[0].value.to_string().parse::<f64>().expect("a number")),
                one,
            ),
        });
        let order = set.intervals.iter().find(|one| one.key.as_deref() == Some("105")).expect("one");
        assert_eq!((order.counters[0].name.as_str(), whole(order.counters[0].value)), ("bytes", -315));
        assert_eq!(
            (order.attributes[0].name.as_str(), order.attributes[0].value.as_str()),
            ("customer", "odd")
        );
        assert_eq!(order.children[0].label, "shop:step");
    }
}

/// The JDK's clock had no TSC here: a tick is a nanosecond.
#[test]
fn a_flight_recording_has_the_events_that_its_program_made() {
    let packed = std::fs::File::open(folder().join("flight.jfr.zst")).expect("there");
    let recording = zstd::decode_all(packed).expect("zstd");
    let set = read(&recording, Clock::Realtime);
    // Look-ups have no number: each belongs to the request that it lies in.
    let requests: Vec<(Interval, i64)> = set
        .intervals
        .iter()
        .filter(|one| one.label == "shop.Request")
        .map(|one| {
            let number =
                one.counters.iter().find(|counter| counter.name == "number").expect("a number").value;
            (one.clone(), whole(number))
        })
        .collect();
    let number = |one: &Interval| {
        let holds = |request: &Interval| {
            request.start_thread == one.start_thread
                && request.range.start <= one.range.start
                && one.range.stop <= request.range.stop
        };
        requests.iter().find(|(request, _)| holds(request)).expect("within a request").1
    };
    let spans = IntervalSet {
        intervals: set.intervals.iter().filter(|one| one.label != "shop.Tick").cloned().collect(),
        ..IntervalSet::default()
    };
    assert_stated(&spans, &stated("flight.csv"), |interval| {
        vec![interval.label.to_string(), number(interval).to_string()]
    });
    assert_eq!(set.intervals.len(), 60);
    let (request, _) = requests.iter().find(|(_, number)| *number == 7).expect("the seventh");
    let counters: Vec<(&str, String)> =
        request.counters.iter().map(|counter| (counter.name.as_str(), counter.value.to_string())).collect();
    assert_eq!(
        counters,
        [("number", "7".to_owned()), ("load", "0.5".to_owned()), ("delta", "-7".to_owned())]
    );
    let attributes: Vec<(&str, &str)> =
        request.attributes.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(attributes, [("kind", "g\u{e9}t \u{65e5}1"), ("cached", "false")]);
    assert_eq!(request.children[0].label, "shop.Lookup");
    let threads: std::collections::BTreeSet<_> = set.intervals.iter().map(|one| one.start_thread).collect();
    assert!(threads.len() == 2 && !threads.contains(&None), "{threads:?}");
}

/// Spans by their tags, and calls by their methods; a tick is a nanosecond of `CLOCK_MONOTONIC`.
#[test]
fn a_recording_of_async_profiler_has_the_spans_that_its_program_made() {
    let packed = std::fs::File::open(folder().join("profiled.jfr.zst")).expect("there");
    let set = read(&zstd::decode_all(packed).expect("zstd"), Clock::Monotonic);
    // 2 threads of 100 orders with a look-up each, and two spans without a tag.
    assert_eq!(set.intervals.len(), 402, "{:?}", set.diagnostics);
    let (untagged, tagged): (Vec<Interval>, _) =
        set.intervals.into_iter().partition(|one| one.label == "profiler.Span");
    assert_eq!(untagged.len(), 2);
    let spans = IntervalSet { intervals: tagged, ..IntervalSet::default() };
    assert_stated(&spans, &stated("profiled.csv"), |one| {
        vec![one.label.to_string(), one.start_thread.expect("known").tid.0.to_string()]
    });
    let order = spans.intervals.iter().find(|one| one.label == "order").expect("one");
    assert_eq!((order.children.len(), order.children[0].label.as_str()), (1, "ProfiledSpans.lookup"));
    assert_eq!((order.counters.len(), order.attributes.len()), (0, 0));
}

fn whole(number: Number) -> i64 {
    number.to_string().parse().expect("a whole number")
}
