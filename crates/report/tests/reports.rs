//! Reports made by hand, small enough to check every printed figure against this file.
//!
//! One tick is one nanosecond here (`time_mult` = 2^31, `time_shift` = 31), so lengths can be read off the edges.

// Each test program uses its own part.
#![allow(dead_code, unreachable_pub)]

use model::{
    Attribution, Cause, Certainty, Counter, Cpu, Diagnostic, Evidence, FaultKind, FileOffset, Interval,
    IntervalId, OffCpu, Role, Segment, Slower, Stage, Story, ThreadId, Ticks, TimeConversion, Tsc, TscRange,
};
use tailtrace_report::{
    Bin, CaptureFacts, Check, CheckState, CounterView, Mode, Modes, OutlierReport, Percentiles,
    PopulationSummary, Report, SelectionSummary, ServingRow, SplitView, Timebase, View,
};

mod calls;
mod composed;
mod differences;
mod machines;
mod views;
mod waits;

#[allow(unused_imports)]
pub use calls::{hostile_with_calls, twenty, two_hundred, with_calls, with_code};
#[allow(unused_imports)]
pub use composed::composed;
#[allow(unused_imports)]
pub use differences::{difference, hostile_difference};
#[allow(unused_imports)]
pub use machines::{hostile_machine, with_machine};
#[allow(unused_imports)]
pub use views::with_view;
#[allow(unused_imports)]
pub use waits::served;

const WORKER: ThreadId = ThreadId { pid: model::Pid(410), tid: model::Tid(412) };
const SINK: ThreadId = ThreadId { pid: model::Pid(410), tid: model::Tid(413) };

/// Perf time = TSC + 7 000 s.
pub fn one_to_one() -> Timebase {
    let conversion = TimeConversion::new(31, 1 << 31, 7_000_000_000_000).expect("usable");
    Timebase::Perf(conversion)
}

pub fn segment(start: u64, stop: u64, cause: Cause, certainty: Certainty, detail: &str) -> Segment {
    Segment {
        range: TscRange { start: Tsc(start), stop: Tsc(stop) },
        cpu: Some(Cpu(1)),
        thread: Some(WORKER),
        cause,
        occurrence: start,
        certainty,
        detail: detail.to_owned(),
        story: Story::default(),
        edge_uncertainty: Ticks(0),
        during: Vec::new(),
        evidence: Vec::new(),
    }
}

/// Object, place and the other thread, for the headline.
fn story(object: &str, place: &str, by: &str, role: Role) -> Story {
    let mut story = Story::default();
    (story.object, story.place, story.by) = (object.to_owned(), place.to_owned(), by.to_owned());
    story.role = role;
    story
}

pub fn attribution(id: u64, segments: Vec<Segment>) -> Attribution {
    let (first, last) = (segments.first().expect("segments"), segments.last().expect("segments"));
    let range = TscRange::new(first.range.start, last.range.stop);
    Attribution::new(Interval::new(IntervalId(id), "order", range, Some(WORKER)), segments)
        .expect("partition")
}

pub fn comm(thread: ThreadId, _at: Tsc) -> Option<String> {
    match thread.tid.0 {
        412 => Some("engine".to_owned()),
        413 => Some("sink".to_owned()),
        _ => None,
    }
}

fn capture() -> CaptureFacts {
    CaptureFacts {
        path: Some("/captures/engine/perf.data".to_owned()),
        hostname: Some("trade7".to_owned()),
        os_release: Some("6.1.0-18-amd64".to_owned()),
        perf_version: Some("6.1.76".to_owned()),
        arch: Some("x86_64".to_owned()),
        cpu_desc: Some("Intel(R) Xeon(R) Gold 6430".to_owned()),
        cpuid: Some("GenuineIntel,6,143,8".to_owned()),
        cmdline: Some(
            "perf record -a --kcore -e intel_pt/cyc=1,noretcomp=1/ -e sched:sched_switch".to_owned(),
        ),
        cpus: Some(8),
        tsc_hz: Some(2_000_000_000),
        pt_config: ["cyc", "mtc_period=0", "noretcomp"].map(str::to_owned).into(),
        duration_ns: Some(1_250_000_000),
        trace_bytes: Some(18_874_368),
        lost_records: Some(0),
        truncated_aux: Some(0),
        ..CaptureFacts::default()
    }
}

fn population() -> PopulationSummary {
    PopulationSummary {
        count: 500,
        in_recording: Some(500),
        rule: "robust z-score above 3.5: longer than 21.4 us".to_owned(),
        outliers: 16,
        min_ns: 14_980,
        mean_ns: 27_312.25,
        mean_without_outliers_ns: 16_340.5,
        max_ns: 412_300,
        stdev_ns: 61_870.125,
        stdev_without_outliers_ns: 512.75,
        percentiles: Percentiles { p50: 16_300, p90: 17_100, p99: 398_000, p99_9: 412_300, p99_99: 412_300 },
        histogram: [(13_000, 22), (15_000, 301), (17_000, 161), (19_000, 0), (21_000, 0), (23_000, 16)]
            .map(|(from_ns, count)| Bin { from_ns, to_ns: from_ns + 2_000, count })
            .into(),
        modes: None,
        counters: Vec::new(),
        lost_markers: None,
        snapshots: None,
    }
}

fn report(outliers: Vec<OutlierReport>) -> Report {
    Report {
        capture: capture(),
        population: population(),
        selection: SelectionSummary {
            rule: "--mad 3.5, at most the 10 longest".to_owned(),
            selected: outliers.len() as u64,
        },
        view: View::of(&outliers),
        composition: None,
        outliers,
        diagnostics: Vec::new(),
    }
}

fn check(name: &str, state: CheckState, detail: &str) -> Check {
    Check { name: name.to_owned(), state, detail: detail.to_owned() }
}

fn good_checks() -> Vec<Check> {
    vec![
        check("PT", CheckState::Good, "for 1 of 1 CPUs"),
        check("loss", CheckState::Good, "none"),
        check("CYC", CheckState::Good, "in the trace"),
        check("code bytes", CheckState::Good, "for 3 of 3 files"),
        check("kernel trace", CheckState::Good, "yes"),
        check("clock", CheckState::Good, "joined"),
    ]
}

/// 80 us instead of 16: three page faults (60 us, the second one cut in two by a timer interrupt of 3 us), 17 us of
/// user code of which 2 us are slower. Baselines: 16 us and 17 us of user code, the latter with 1 us of a fault.
pub fn page_faults() -> Report {
    let fault = |start, stop, occurrence, evidence: &str, offset| Segment {
        occurrence,
        story: story("", "touch_pages() queue.c:88", "", Role::None),
        evidence: vec![
            Evidence::record(FileOffset(offset), Some(Cpu(1)), evidence),
            Evidence::packet(0x4f20, Some(Cpu(1)), "FUP 0x401a36, TIP asm_exc_page_fault"),
            Evidence::symbol("asm_exc_page_fault"),
        ],
        ..segment(
            start,
            stop,
            Cause::PageFault(FaultKind::Minor),
            Certainty::Measured,
            "in `touch_pages()` at queue.c:88",
        )
    };
    let user = |start, stop| segment(start, stop, Cause::UserExpected, Certainty::Decoded, "");
    let outlier = attribution(
        50,
        vec![
            user(1_000_000, 1_010_000),
            fault(1_010_000, 1_030_000, 1, "exceptions:page_fault_user address=0x7f0000001000", 0x1a2b0),
            user(1_030_000, 1_032_000),
            fault(1_032_000, 1_045_000, 2, "exceptions:page_fault_user address=0x7f0000002000", 0x1a310),
            Segment {
                edge_uncertainty: Ticks(400),
                ..segment(
                    1_045_000,
                    1_048_000,
                    Cause::Timer,
                    Certainty::Decoded,
                    "asm_sysvec_apic_timer_interrupt",
                )
            },
            fault(1_048_000, 1_055_000, 2, "exceptions:page_fault_user address=0x7f0000002000", 0x1a310),
            fault(1_055_000, 1_075_000, 3, "exceptions:page_fault_user address=0x7f0000003000", 0x1a370),
            user(1_075_000, 1_078_000),
            segment(
                1_078_000,
                1_080_000,
                Cause::UserSlower(Slower::Other),
                Certainty::Inferred,
                "`sum()` at queue.c:95",
            ),
        ],
    );
    let baselines = [
        attribution(12, vec![user(0, 16_000)]),
        attribution(
            13,
            vec![user(0, 16_000), fault(16_000, 17_001, 1, "exceptions:page_fault_user address=0x1", 0x10)],
        ),
    ];
    let mut outlier = OutlierReport::new(&outlier, &baselines, one_to_one(), comm)
        .with_perf_script("/captures/engine/perf.data");
    "same label and threads, no outliers, every n-th by duration".clone_into(&mut outlier.baseline_rule);
    outlier.checks = good_checks();
    report(vec![outlier])
}

/// 1.2 ms from engine to sink, 1 ms of it waiting for a lock while its holder wrote to a file.
pub fn lock_wait() -> Report {
    let holder = |start, stop, cause, detail: &str| Segment {
        thread: Some(ThreadId::new(410, 121)),
        cpu: Some(Cpu(3)),
        ..segment(start, stop, cause, Certainty::Measured, detail)
    };
    let wait = Segment {
        cpu: None,
        story: story("a mutex", "take() book.rs:17", "writer", Role::Holder),
        during: vec![
            Segment {
                story: story("", "append() journal.rs:40", "", Role::None),
                ..holder(60_000, 860_000, Cause::Syscall("fsync".to_owned()), "journal.log on nvme0n1")
            },
            holder(860_000, 1_050_000, Cause::UserExpected, ""),
            holder(1_050_000, 1_060_000, Cause::Syscall("futex".to_owned()), "wakes engine (tid 412)"),
        ],
        evidence: vec![
            Evidence::record(FileOffset(0x5888), Some(Cpu(1)), "PERF_RECORD_SWITCH_CPU_WIDE OUT next tid 0"),
            Evidence::record(FileOffset(0x9f10), Some(Cpu(3)), "sched:sched_waking pid=412 target_cpu=1"),
        ],
        ..segment(
            60_000,
            1_060_000,
            Cause::OffCpu(OffCpu::Lock),
            Certainty::Measured,
            "held by `writer` (tid 121), futex 0x7ffd0010",
        )
    };
    let range = TscRange::new(Tsc(0), Tsc(1_200_000));
    let mut interval = Interval::new(IntervalId(4711), "order", range, Some(WORKER));
    interval.stop_thread = Some(SINK);
    interval.key = Some("ord-4711".to_owned());
    interval.counters = vec![
        Counter { name: "bytes".to_owned(), value: 1448.0.into() },
        Counter { name: "queue".to_owned(), value: 2.5.into() },
    ];
    interval.stages = vec![
        Stage { name: "parse".to_owned(), start: Tsc(0) },
        Stage { name: "match".to_owned(), start: Tsc(40_000) },
        Stage { name: "send".to_owned(), start: Tsc(1_100_000) },
    ];
    let segments = vec![
        segment(0, 40_000, Cause::UserExpected, Certainty::Decoded, ""),
        segment(
            40_000,
            60_000,
            Cause::Syscall("futex".to_owned()),
            Certainty::Decoded,
            "`lock()` at book.rs:17",
        ),
        wait,
        segment(
            1_060_000,
            1_090_000,
            Cause::OffCpu(OffCpu::Runnable),
            Certainty::Measured,
            "behind `kworker/1:2`",
        ),
        segment(1_090_000, 1_140_000, Cause::UserExpected, Certainty::Decoded, ""),
        Segment {
            cpu: Some(Cpu(2)),
            ..segment(1_140_000, 1_200_000, Cause::UserExtraWork, Certainty::Inferred, "`rehash()`")
        },
    ];
    let outlier = Attribution::new(interval, segments).expect("partition");
    let typical = attribution(7, vec![segment(0, 90_000, Cause::UserExpected, Certainty::Decoded, "")]);
    let mut outlier = OutlierReport::new(&outlier, &[typical], one_to_one(), comm)
        .with_perf_script("/captures/it's here/perf.data");
    outlier.checks = good_checks();
    outlier.checks[4] =
        check("kernel trace", CheckState::Missing, "user only: time in the kernel has no names");
    outlier.checks[1] = check("loss", CheckState::Partial, "one overflow of 12 us");
    let mut report = report(vec![outlier]);
    report.diagnostics = vec![
        Diagnostic::note("7 records of unknown type 91 were skipped").at_offset(FileOffset(0x1234)),
        Diagnostic::warning("no binary for /opt/engine/lib/libmatch.so: its code has no names; give --symfs"),
    ];
    report
}

/// The two outliers above, and one with more causes, segments and evidence than are shown.
pub fn several() -> Report {
    let syscall = |index: u64| {
        let mut segment = segment(
            index * 1_000,
            index * 1_000 + 1_000 - index,
            Cause::Syscall(format!("call_{index}")),
            Certainty::Decoded,
            "",
        );
        segment.evidence = (0..index)
            .map(|at| {
                Evidence::record(FileOffset(0x100 * index + at), Some(Cpu(1)), "raw_syscalls:sys_enter")
            })
            .collect();
        segment
    };
    let between = |index: u64| {
        segment(
            index * 1_000 + 1_000 - index,
            index * 1_000 + 1_000,
            Cause::UserExpected,
            Certainty::Decoded,
            "",
        )
    };
    let segments = (1..=15).flat_map(|index| [syscall(index), between(index)]).collect();
    let typical = attribution(8, vec![segment(0, 300, Cause::UserExpected, Certainty::Decoded, "")]);
    let outlier = OutlierReport::new(&attribution(77, segments), &[typical], one_to_one(), comm);
    let mut report = lock_wait();
    report.outliers.extend(page_faults().outliers);
    report.outliers.push(outlier);
    report.selection.selected = 3;
    report.view = View::of(&report.outliers);
    report
}

/// No conversion, no frequency, no baseline: ticks, and half of them lost.
pub fn bare() -> Report {
    let outlier = attribution(
        3,
        vec![
            segment(100, 600, Cause::KernelUnknown, Certainty::Unknown, ""),
            segment(600, 1_100, Cause::TraceLoss, Certainty::Measured, "overflow"),
        ],
    );
    let none: [Attribution; 0] = [];
    let mut outlier = OutlierReport::new(&outlier, &none, Timebase::Ticks, |_, _| None);
    outlier.checks =
        vec![check("clock", CheckState::Missing, "recorded with -k CLOCK_MONOTONIC: no TSC conversion")];
    Report {
        capture: CaptureFacts {
            path: Some("perf.data".to_owned()),
            time_unit: tailtrace_report::TimeUnit::Ticks,
            ..CaptureFacts::default()
        },
        population: PopulationSummary {
            count: 1,
            outliers: 1,
            rule: "--top 1".to_owned(),
            min_ns: 1_000,
            mean_ns: 1_000.0,
            max_ns: 1_000,
            percentiles: Percentiles { p50: 1_000, p90: 1_000, p99: 1_000, p99_9: 1_000, p99_99: 1_000 },
            ..PopulationSummary::default()
        },
        selection: SelectionSummary { rule: "--top 1".to_owned(), selected: 1 },
        view: View::default(),
        composition: None,
        outliers: vec![outlier],
        diagnostics: vec![
            Diagnostic::error("the capture ends in the middle of a record").at_offset(FileOffset(0xfff0)),
        ],
    }
}

/// The report of a capture without intervals.
pub fn empty() -> Report {
    Report {
        selection: SelectionSummary { rule: "--mad 3.5, at most the 10 longest".to_owned(), selected: 0 },
        ..Report::default()
    }
}

/// A counter of which small values go with slow waits.
fn send_bytes() -> CounterView {
    CounterView {
        label: "send".to_owned(),
        name: "send_bytes".to_owned(),
        count: 5_992,
        rho: Some(-0.077),
        confidence: Some((-0.102, -0.052)),
        p: Some(2.5e-9),
        split: Some(SplitView {
            is_below: true,
            threshold: 1_448.0.into(),
            slow_matched: 11,
            slow: 12,
            fast_matched: 3,
            fast: 5_980,
            p: 1e-8,
        }),
        is_significant: true,
    }
}

/// Fast waits of 937 us and slow ones of 200 ms.
pub fn two_modes() -> Report {
    let mut report = report(Vec::new());
    let bins = [
        (800_000, 310),
        (900_000, 4_980),
        (1_000_000, 690),
        (1_100_000, 0),
        (1_200_000, 0),
        (190_000_000, 12),
    ];
    report.population = PopulationSummary {
        count: 5_992,
        in_recording: Some(5_992),
        outliers: 12,
        rule: "robust z-score above 3.5: longer than 1.09 ms".to_owned(),
        min_ns: 812_000,
        mean_ns: 1_335_712.5,
        mean_without_outliers_ns: 937_004.25,
        max_ns: 204_000_127,
        stdev_ns: 8_899_000.0,
        stdev_without_outliers_ns: 41_000.0,
        percentiles: Percentiles {
            p50: 937_000,
            p90: 1_010_000,
            p99: 1_090_000,
            p99_9: 200_000_000,
            p99_99: 204_000_127,
        },
        histogram: bins.map(|(from_ns, count)| Bin { from_ns, to_ns: from_ns + 100_000, count }).into(),
        modes: Some(Modes {
            fast: Mode { count: 5_980, mean_ns: 937_004.25 },
            slow: Mode { count: 12, mean_ns: 200_025_000.0 },
            threshold_ns: 13_800_000,
        }),
        counters: vec![send_bytes()],
        lost_markers: None,
        snapshots: None,
    };
    report
}

/// Strings that try to do something: to a terminal, to a Markdown table, to HTML, to a reader's eyes.
pub const HOSTILE: [&str; 12] = [
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m",
    "a|b`c`|d\n# heading\r\n- item",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "[click](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "https://evil.example/ www.evil.example @everyone #1 user@evil.example",
    "\u{202e}gnp.exe\u{202c}\u{2066}x\u{2069}\u{200b}\u{feff}",
    "std::vector<std::pair<int, char const*>>::operator[](unsigned long) const & /* &lt; */",
    "```\nrm -rf /\n```",
    "\\| \\\\ *bold* __init__ ~~gone~~ $x^2$ {color:red}",
    "表示幅の広い文字列です表示幅の広い文字列です表示幅の広い文字列です👩‍👩‍👧‍👦",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\0\u{7f}\u{85}\u{2028}\u{2029}",
    "    indented --- \t=== ::: 1. one",
];

/// Every string of a report replaced by those of [`HOSTILE`], and one of 10 MB.
pub fn hostile() -> Report {
    let mut texts = HOSTILE.iter().map(|&text| text.to_owned()).cycle();
    let mut next = || texts.next().expect("endless");
    let mut report = lock_wait();
    let long = "A".repeat(10_000_000);
    report.capture.path = Some(long.clone());
    report.capture.hostname = Some(next());
    report.capture.os_release = Some(next());
    report.capture.perf_version = Some(next());
    report.capture.cpu_desc = Some(next());
    report.capture.cpuid = Some(next());
    report.capture.cmdline = Some(next());
    report.capture.pt_config = (0..HOSTILE.len()).map(|_| next()).collect();
    report.population.rule = next();
    report.selection.rule = next();
    report.diagnostics = (0..HOSTILE.len()).map(|_| Diagnostic::error(next()).in_file(next())).collect();
    report.diagnostics.push(Diagnostic::error(long.clone()));
    let outlier = report.outliers.first_mut().expect("one outlier");
    outlier.label = next();
    outlier.key = Some(next());
    outlier.threads.insert(121, next());
    for thread in [&mut outlier.start_thread, &mut outlier.stop_thread].into_iter().flatten() {
        thread.comm = next();
    }
    outlier.checks.iter_mut().for_each(|check| (check.name, check.detail) = (next(), next()));
    outlier.counters.iter_mut().for_each(|counter| counter.name = next());
    outlier.counters[0].value = f64::NAN.into();
    outlier.stages.iter_mut().for_each(|stage| stage.name = next());
    outlier.causes.iter_mut().for_each(|cause| (cause.cause, cause.detail) = (next(), next()));
    for segment in &mut outlier.segments {
        (segment.cause, segment.detail) = (next(), next());
        for piece in &mut segment.during {
            (piece.cause, piece.detail) = (next(), next());
            (piece.story.object, piece.story.by) = (next(), next());
            piece.story.part = Some(model::Part::OthersFirst);
        }
        if !segment.during.is_empty() {
            let part = Some(model::Part::OthersFirst);
            let (kind, unusual) = (next(), next());
            segment.serving = vec![ServingRow { part, kind, unusual, duration_ns: 7, typical_ns: 0 }];
        }
        segment.evidence.iter_mut().for_each(|evidence| evidence.text = next());
        segment.story.sampled = vec![model::SampledFunction { function: next(), samples: 3 }];
    }
    composed::make_hostile(&mut report, &mut next);
    views::make_hostile(&mut report, &long);
    let others: Vec<OutlierReport> = (0..30).map(|_| report.outliers[0].clone()).collect();
    for (index, mut other) in others.into_iter().enumerate() {
        HOSTILE[index % HOSTILE.len()].clone_into(&mut other.label);
        HOSTILE[(index + 5) % HOSTILE.len()].clone_into(&mut other.causes[0].detail);
        other = other.with_perf_script(HOSTILE[(index + 7) % HOSTILE.len()]);
        report.outliers.push(other);
    }
    report.outliers[0].causes[1].detail = long;
    report
}
