//! A report whose population has findings: a counter, waits for two objects, a device of two kinds of accesses.

use tailtrace_report::{
    Blame, DeviceUse, DeviceView, IoShare, Lengths, MemoryUse, NodeCount, NodeTime, NumaUse, NumaView,
    Reason, Reasons, WaitView,
};

use super::*;

/// [`several`], with what the records of all intervals show.
pub fn with_view() -> Report {
    let mut report = several();
    report.population = two_modes().population;
    report.view.waits = vec![
        WaitView {
            object: "futex 0x7ffd0010 of pid 410".to_owned(),
            cause: "offcpu.lock".to_owned(),
            fast: Lengths::of(vec![12_000; 40]),
            slow: Lengths::of(vec![1_000_000, 940_000, 1_020_000]),
            slow_share: 0.83,
            fast_share: 0.004,
            modes: None,
        },
        WaitView {
            object: "device 254:16".to_owned(),
            cause: "offcpu.block-io".to_owned(),
            fast: Lengths::default(),
            slow: Lengths::of(vec![573_000]),
            slow_share: 0.1,
            fast_share: 0.0,
            modes: None,
        },
    ];
    report.view.devices = vec![device()];
    report.view.block_io =
        Some(IoShare { share: 0.05, slow_share: 0.1, fast_share: 0.0, others_share: 0.02 });
    report.view.numa = Some(NumaView { slow: used("254:16", 9), fast: used("254:16", 1) });
    report.outliers[0].numa = Some(used("254:16", 1));
    report.view.reasons = reasons();
    report.view.remarks = vec!["of 30000 waits the 20000 longest are examined".to_owned()];
    report
}

/// Of 12 outliers: a mutex with four holders, page faults, and what is too small to be distinguished.
fn reasons() -> Reasons {
    let blame = |who: &str, first, excess_ns| Blame { who: who.to_owned(), first, excess_ns };
    let reason = |cause: &str, what: &str, first, excess_ns, blamed| Reason {
        cause: cause.to_owned(),
        what: what.to_owned(),
        first,
        outliers: first + 1,
        excess_ns,
        share: f64::from(u32::try_from(excess_ns).expect("small")) / 10_000_000.0,
        blamed,
    };
    Reasons {
        explained: 12,
        outliers: 12,
        all: vec![
            reason(
                "offcpu.lock",
                "waited for mutex in take() book.rs:17",
                9,
                8_000_000,
                vec![
                    blame(
                        "held by writer, which was in fsync() called by append() journal.rs:40",
                        5,
                        5_000_000,
                    ),
                    blame("held by auditor, which slept in keep() audit.rs:38", 2, 1_500_000),
                    blame("held by pricer, which ran reprice() price.rs:9", 1, 1_000_000),
                    blame("held by clerk", 1, 400_000),
                    blame("held by ledger", 0, 100_000),
                ],
            ),
            reason(
                "kernel.page-fault.minor",
                "page faults of touch_pages() queue.c:88",
                3,
                1_500_000,
                vec![],
            ),
            reason("kernel.timer", "was interrupted by the timer", 0, 300_000, vec![]),
            reason("kernel.nmi", "was interrupted by NMIs", 0, 50_000, vec![]),
        ],
        smaller_ns: 150_000,
        smaller_share: 0.015,
    }
}

/// A thread of both nodes that waited `waits` times for a device of node 1, and loaded from both.
fn used(device: &str, waits: u64) -> NumaUse {
    let time = |node, duration_ns| NodeTime { node: Some(node), duration_ns };
    let count = |node, count| NodeCount { node, count };
    NumaUse {
        threads: vec![time(0, 900), time(1, 100)],
        devices: vec![DeviceUse {
            device: device.to_owned(),
            node: Some(1),
            waits,
            remote: waits,
            unknown: 0,
            remote_ends: 0,
            unknown_ends: 1,
        }],
        memory: Some(MemoryUse {
            count: 5,
            remote: 3,
            unknown: 1,
            nodes: vec![count(None, 1), count(Some(1), 4)],
        }),
        pages: None,
    }
}

/// 900 reads around 90 us, 12 around 600 us.
fn device() -> DeviceView {
    let bins = [(50_000, 100), (80_000, 700), (120_000, 100), (200_000, 0), (320_000, 0), (500_000, 12)];
    let edges = bins.iter().map(|bin| bin.0).skip(1).chain([800_000]);
    let histogram = bins.iter().zip(edges).map(|(&(from_ns, count), to_ns)| Bin { from_ns, to_ns, count });
    let lengths = std::iter::repeat_n(90_000, 900).chain(std::iter::repeat_n(600_000, 12));
    DeviceView {
        device: "254:16".to_owned(),
        direction: "read".to_owned(),
        accesses: Lengths::of(lengths.collect()),
        histogram: histogram.collect(),
        modes: Some(Modes {
            fast: Mode { count: 900, mean_ns: 90_000.0 },
            slow: Mode { count: 12, mean_ns: 600_000.0 },
            threshold_ns: 200_000,
        }),
        wait_share: 0.048,
    }
}

/// Gives `report` a view of hostile names, one of them `long`.
pub fn make_hostile(report: &mut Report, long: &str) {
    let mut texts = HOSTILE.iter().copied().chain([long]).cycle();
    let mut next = || texts.next().expect("endless").to_owned();
    report.view = with_view().view;
    let view = &mut report.view;
    (view.waits, view.devices) = (vec![view.waits[0].clone(); 13], vec![view.devices[0].clone(); 13]);
    view.causes.iter_mut().for_each(|share| share.cause = next());
    for story in &mut view.stories {
        story.words = next();
        story.causes.iter_mut().for_each(|cause| *cause = next());
    }
    for reason in &mut view.reasons.all {
        (reason.cause, reason.what) = (next(), next());
        reason.blamed.iter_mut().for_each(|blame| blame.who = next());
    }
    view.waits.iter_mut().for_each(|wait| (wait.object, wait.cause) = (next(), next()));
    view.devices.iter_mut().for_each(|device| (device.device, device.direction) = (next(), next()));
    let numa = view.numa.as_mut().expect("several nodes");
    numa.slow.devices =
        (0..13).map(|_| DeviceUse { device: next(), ..numa.slow.devices[0].clone() }).collect();
    view.remarks = (0..13).map(|_| next()).collect();
    report.population.counters = vec![send_bytes(); 13];
    report
        .population
        .counters
        .iter_mut()
        .for_each(|counter| (counter.label, counter.name) = (next(), next()));
}
