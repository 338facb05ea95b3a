//! Writes an executed scenario: capture, images, interval file, truth.
//!
//! Input: a scenario and its execution. Output: a directory that stock perf and tailtrace read. The same bytes each time.

mod aux;
mod copied;
mod jitdump;
mod machine;
mod perf_data;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use perf_data::perf_data;

use super::execution::{Caused, Executed, Owner};
use super::image::{Backing, Image};
use super::program::Scenario;
use crate::elf::{self, LoadSegment};
use crate::error::Error;

const PAGE: u64 = 4096;

/// Writes `executed` into the directory `output`; see [`make`](super::make) for what it holds.
///
/// # Errors
/// [`Error::File`] where writing fails.
pub fn write(scenario: &Scenario, executed: &Executed, output: &Path) -> Result<(), Error> {
    put(&output.join("perf.data/data"), &perf_data(scenario, executed))?;
    if let Some(text) = machine::file(&scenario.machine) {
        put(&output.join("perf.data/machine.json"), text.as_bytes())?;
    }
    let kernel: Vec<&Image> =
        scenario.images.iter().filter(|image| image.backing == Backing::Kernel).collect();
    if !kernel.is_empty() {
        let directory = output.join("perf.data/kcore_dir");
        let segments: Vec<_> = kernel.iter().map(|image| segment(image)).collect();
        put(&directory.join("kcore"), &elf::kcore(&segments))?;
        put(&directory.join("kallsyms"), kallsyms(&kernel).as_bytes())?;
        put(&directory.join("modules"), b"")?;
    }
    for image in &scenario.images {
        if let Backing::File(path) = &image.backing {
            let program = elf::program(segment(image), &image.symbols, image.bits);
            put(&output.join("symfs").join(path.trim_start_matches('/')), &program)?;
        }
    }
    if let Some(copies) = copied::copies(scenario) {
        put(&output.join("perf.data/code"), &copies)?;
    }
    write_jit_names(scenario, &output.join("symfs/tmp"))?;
    for (pid, dump) in jitdump::dumps(scenario) {
        put(&output.join("symfs").join(jitdump::path(pid).trim_start_matches('/')), &dump)?;
    }
    for buffer in &executed.buffers {
        let mut list = String::new();
        for retired in &buffer.retired {
            let _ = writeln!(list, "{:x}", retired.ip);
        }
        let name = match buffer.owner {
            Owner::Cpu(cpu) => format!("instructions.cpu{cpu}"),
            Owner::Thread(tid) => format!("instructions.thread{tid}"),
        };
        put(&output.join(name), list.as_bytes())?;
    }
    put(&output.join("intervals.csv"), intervals(scenario, executed).as_bytes())?;
    put(&output.join("truth.json"), truth(executed).as_bytes())
}

/// Writes each process's `perf-PID.map`: start, size and name of the functions made at run time.
fn write_jit_names(scenario: &Scenario, folder: &Path) -> Result<(), Error> {
    let mut map = String::new();
    let is_named = |image: &&Image| matches!(image.backing, Backing::Jit | Backing::Copied);
    for image in scenario.images.iter().filter(is_named) {
        for (name, address, end) in image.functions() {
            let _ = writeln!(map, "{address:x} {:x} {name}", end - address);
        }
    }
    if map.is_empty() {
        return Ok(());
    }
    let processes: BTreeSet<u32> = scenario.threads.iter().map(|thread| thread.pid).collect();
    for pid in processes.into_iter().filter(|&pid| pid != 0) {
        put(&folder.join(format!("perf-{pid}.map")), map.as_bytes())?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    std::fs::write(path, bytes).map_err(Error::file(path))
}

fn segment(image: &Image) -> LoadSegment<'_> {
    LoadSegment { address: image.address, bytes: &image.bytes }
}

/// First and last address of the kernel's code.
fn span(kernel: &[&Image]) -> Option<(u64, u64)> {
    let first = kernel.iter().map(|image| image.address).min()?;
    let last = kernel.iter().map(|image| image.address + image.bytes.len() as u64).max()?;
    Some((first, last.next_multiple_of(PAGE)))
}

fn kallsyms(kernel: &[&Image]) -> String {
    let mut out = String::new();
    let Some((first, last)) = span(kernel) else { return out };
    let _ = writeln!(out, "{first:016x} T _stext\n{first:016x} T _text");
    let mut symbols: Vec<_> = kernel.iter().flat_map(|image| &image.symbols).collect();
    symbols.sort_by_key(|(_, address)| *address);
    for (name, address) in symbols {
        let _ = writeln!(out, "{address:016x} T {name}");
    }
    let _ = writeln!(out, "{last:016x} T _etext");
    out
}

fn intervals(scenario: &Scenario, executed: &Executed) -> String {
    if executed.intervals.iter().any(|interval| !interval.phases.is_empty()) {
        return marks(scenario, executed);
    }
    let mut out =
        "# tailtrace-intervals 1 clock=tsc\nid,label,start,stop,pid,tid,stop_pid,stop_tid\n".to_owned();
    for interval in &executed.intervals {
        let (start, stop) =
            (&scenario.threads[interval.start_thread], &scenario.threads[interval.stop_thread]);
        let end = interval.stop.unwrap_or(interval.start);
        let _ = write!(out, "{},{},{},{end},", interval.id, interval.label, interval.start);
        let _ = writeln!(out, "{},{},{},{}", start.pid, start.tid, stop.pid, stop.tid);
    }
    out
}

/// The same as one line per marker, which those of tasks need. An interval's key is its number.
fn marks(scenario: &Scenario, executed: &Executed) -> String {
    let mut out = "# tailtrace-intervals 1 clock=tsc\nmark,label,at,key,pid,tid,id\n".to_owned();
    for interval in &executed.intervals {
        let (key, label) = (interval.id, &interval.label);
        let mut put = |kind: &str, at: u64, thread: usize, id: &str| {
            let thread = &scenario.threads[thread];
            let _ = writeln!(out, "{kind},{label},{at},{key},{},{},{id}", thread.pid, thread.tid);
        };
        put("begin", interval.start, interval.start_thread, &key.to_string());
        for phase in &interval.phases {
            put(phase.kind, phase.tsc, phase.thread, "");
        }
        put("end", interval.stop.unwrap_or(interval.start), interval.stop_thread, "");
    }
    out
}

fn truth(executed: &Executed) -> String {
    let mut rows = Vec::new();
    for interval in &executed.intervals {
        let ticks = interval.ticks();
        let causes = interval.causes.iter().map(|Caused { cause, ticks, count, certainty, says }| {
            let count = count.map(|count| format!(", \"count\": {count}")).unwrap_or_default();
            let certainty =
                certainty.as_ref().map(|known| format!(", \"certainty\": \"{known}\"")).unwrap_or_default();
            let says = says.as_ref().map(|says| format!(", \"says\": \"{says}\"")).unwrap_or_default();
            format!("{{\"cause\": \"{cause}\", \"ticks\": {ticks}{count}{certainty}{says}}}")
        });
        let causes = causes.collect::<Vec<_>>().join(", ");
        let (id, label) = (interval.id, &interval.label);
        rows.push(format!(
            "  {{\"id\": {id}, \"label\": \"{label}\", \"ticks\": {ticks}, \"causes\": [{causes}]}}"
        ));
    }
    format!("{{\"intervals\": [\n{}\n]}}\n", rows.join(",\n"))
}
