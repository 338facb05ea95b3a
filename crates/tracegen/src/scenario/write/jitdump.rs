//! Writes jitdumps: code made at run time with its bytes, as a runtime writes it down while it runs.
//!
//! Input: a scenario's `code jitdump` sections. Output: one dump per process, the same for all, times in TSC ticks.
//! Source: `tools/perf/Documentation/jitdump-specification.txt`.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::image::{Backing, Image};
use super::super::program::Scenario;

/// Where a process's dump lies. perf looks for it there, `--symfs` or not: a folder that nothing else has.
pub(super) fn path(pid: u32) -> String {
    format!("/tmp/tailtrace-scenario/jit-{pid}.dump")
}

/// `EM_X86_64`, and the flag that says that times are the TSC's.
const MACHINE: u32 = 62;
const ARCH_TIMESTAMP: u64 = 1;

/// The dump of each process; none where the scenario has no such code.
pub(super) fn dumps(scenario: &Scenario) -> Vec<(u32, Vec<u8>)> {
    let mut images: Vec<&Image> =
        scenario.images.iter().filter(|image| image.backing == Backing::JitDump).collect();
    if images.is_empty() {
        return Vec::new();
    }
    images.sort_by_key(|image| image.from);
    let pids: BTreeSet<u32> =
        scenario.threads.iter().map(|thread| thread.pid).filter(|&pid| pid != 0).collect();
    let base = scenario.machine.base;
    pids.into_iter().map(|pid| (pid, dump(pid, base, &images))).collect()
}

fn dump(pid: u32, base: u64, images: &[&Image]) -> Vec<u8> {
    let mut out = b"DTiJ".to_vec();
    for field in [1, 40, MACHINE, 0, pid] {
        out.extend(u32::to_le_bytes(field));
    }
    out.extend([base.to_le_bytes(), ARCH_TIMESTAMP.to_le_bytes()].concat());
    let mut index: u64 = 0;
    for image in images {
        let time = image.from.max(base);
        for (name, address, end) in image.functions() {
            let code = &image.bytes[(address - image.address) as usize..(end - image.address) as usize];
            out.extend(debug_info(time, image, address..end));
            out.extend(code_load((pid, time, index), name, address, code));
            index += 1;
        }
    }
    out
}

/// A `JIT_CODE_DEBUG_INFO` record: which code, and for each line its first address, its number and its file; where that is the one before, `\xff`.
/// Nothing where the code has no lines.
fn debug_info(time: u64, image: &Image, code: Range<u64>) -> Vec<u8> {
    let (mut entries, mut count, mut before) = (Vec::new(), 0u64, None);
    for (address, file, line) in image.lines.iter().filter(|(address, ..)| code.contains(address)) {
        entries.extend(address.to_le_bytes());
        entries.extend([line.to_le_bytes(), 0u32.to_le_bytes()].concat());
        entries.extend(if before == Some(file) { &b"\xff"[..] } else { file.as_bytes() });
        entries.push(0);
        (count, before) = (count + 1, Some(file));
    }
    if count == 0 {
        return Vec::new();
    }
    let mut out = [2u32.to_le_bytes(), (32 + entries.len() as u32).to_le_bytes()].concat();
    out.extend([time, code.start, count].map(u64::to_le_bytes).concat());
    out.extend(entries);
    out
}

/// A `JIT_CODE_LOAD` record: who, when, where, how large, which number, name, code.
fn code_load((pid, time, index): (u32, u64, u64), name: &str, address: u64, code: &[u8]) -> Vec<u8> {
    let size = 56 + name.len() + 1 + code.len();
    let mut out = [0u32.to_le_bytes(), (size as u32).to_le_bytes()].concat();
    out.extend(time.to_le_bytes());
    out.extend([pid.to_le_bytes(), pid.to_le_bytes()].concat());
    for field in [address, address, code.len() as u64, index] {
        out.extend(field.to_le_bytes());
    }
    out.extend(name.as_bytes());
    out.push(0);
    out.extend(code);
    out
}
