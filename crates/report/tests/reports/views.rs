//! A report whose population tells something: a counter, waits for two objects, a device of two kinds of accesses.

use tailtrace_report::{DeviceView, IoShare, Lengths, WaitView};

use super::*;

/// [`several`], with what the records of all intervals tell.
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
    report.view.block_io = Some(IoShare { share: 0.05, slow_share: 0.1, fast_share: 0.0 });
    report.view.nodes = vec!["254:16: 3 of 9 waits were ended on another NUMA node".to_owned()];
    report.view.remarks = vec!["of 30000 waits the 20000 longest are looked at".to_owned()];
    report
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
    view.waits.iter_mut().for_each(|wait| (wait.object, wait.cause) = (next(), next()));
    view.devices.iter_mut().for_each(|device| (device.device, device.direction) = (next(), next()));
    view.nodes = (0..13).map(|_| next()).collect();
    view.remarks = (0..13).map(|_| next()).collect();
    report.population.counters = vec![send_bytes(); 13];
    report
        .population
        .counters
        .iter_mut()
        .for_each(|counter| (counter.label, counter.name) = (next(), next()));
}
