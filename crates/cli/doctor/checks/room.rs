//! Memory for perf's buffers, and the disk for the capture.
//!
//! The rate of a trace with CYC packets: perf-intel-pt(1), "hundreds of megabytes per second per core".

use crate::doctor::examination::Examination;
use crate::doctor::finding::{Finding, Level};

/// Bytes of trace that one busy CPU writes in a second: the least that "hundreds of megabytes" can mean.
const TRACE_RATE: u64 = 100_000_000;
/// What a recording of a minute on one busy CPU has.
const MINUTE: u64 = 60 * TRACE_RATE;

/// Whether the buffers fit into memory.
pub(super) fn memory(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "memory";
    let text = machine.tree.text("proc/meminfo")?;
    let kib = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    let available = text.lines().find(|line| line.starts_with("MemAvailable:")).and_then(kib)? / 1024;
    let cpus = machine.online.len() as u64;
    let for_cpu = machine.buffers.for_cpu().div_ceil(1 << 20);
    let wanted = for_cpu.saturating_mul(cpus);
    let finding =
        format!("perf's buffers have {wanted} MiB ({cpus} × {for_cpu} MiB), {available} MiB are available");
    let sizes = match (machine.buffers.trace, for_cpu) {
        (0, _) => "2M",
        (_, ..=24) => "2M,4M",
        _ => "8M,16M",
    };
    let smaller = format!("tailtrace record -m {sizes} -- ./program");
    Some(if wanted >= available {
        Finding::of(Level::Stops, CHECK, finding, "perf fails, or the kernel kills a process")
            .mended_by(smaller)
    } else if wanted > available / 2 {
        let means = "the buffers are locked: other programs lose their page cache while perf runs";
        Finding::of(Level::Warning, CHECK, finding, means).mended_by(smaller)
    } else {
        Finding::fine(CHECK, finding)
    })
}

/// Whether the disk has room for the capture, and is as fast as a trace.
pub(super) fn disk(machine: &Examination) -> Option<Finding> {
    const CHECK: &str = "disk";
    let free = machine.storage.free_bytes?;
    let rate = machine.storage.bytes_per_second;
    let mib = |bytes: u64| bytes >> 20;
    let speed = rate.map_or_else(String::new, |rate| format!(", and takes {} MB a second", rate / 1_000_000));
    let finding = format!("the disk for the capture has {} MiB free{speed}", mib(free));
    let elsewhere = "tailtrace record -o /dev/shm/perf.data -- ./program";
    Some(if free < MINUTE {
        let means = "a busy CPU writes 100 MB of trace a second and more: it is full in less than a minute";
        Finding::of(Level::Warning, CHECK, finding, means)
            .mended_by("tailtrace record -o OTHER/perf.data -- ./program")
    } else if rate.is_some_and(|rate| rate < TRACE_RATE) {
        let means = "a busy CPU writes 100 MB of trace a second and more: what the disk does not take in time is lost";
        Finding::of(Level::Warning, CHECK, finding, means).mended_by(elsewhere)
    } else {
        Finding::fine(CHECK, finding)
    })
}
