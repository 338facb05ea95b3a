//! A trace buffer of our own in the kernel, in which only the events of a pair are: it costs the threads that meet them a write into
//! memory, wakes no other thread, and is read whenever there is time.
//!
//! Input: tracefs, and the two events. Output: their occurrences in order of time. It goes with its owner; what a killed one left goes when
//! the next one is made.
//! Source: Documentation/trace/ftrace.rst ("Instances", `trace_clock`, `trace_pipe_raw`), uprobetracer.rst. A uprobe that perf records
//! cannot be in a trace buffer as well (`probe_event_enable` in `kernel/trace/trace_uprobe.c`): the buffer has a copy of it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use intervals::{EventPair, EventPattern};
use model::{Cpu, Tid};
use perfdata::{FieldValue, TracepointFormat};
use rustix::fs::OFlags;

use super::page::Page;
use super::pairing::Occurrence;
use crate::machine::tree::{Tree, names, numbered};

/// How the names of our instances and groups of probes begin; the number of the process follows.
const NAME: &str = "tailtrace_";
/// KiB for each CPU: 30,000 events of 28 bytes between two readings, which are 20 ms apart.
const BUFFER_KIB: u32 = 1024;
/// A page of the buffer, with room for larger ones.
const PAGE: usize = 1 << 16;
/// The longest time that one CPU is read before the others.
const MOST_PAGES: usize = 1 << 12;

/// The buffer, and its two events.
pub(super) struct Instance {
    tracing: PathBuf,
    folder: PathBuf,
    /// The group of our copies of uprobes.
    group: String,
    copies: Vec<&'static str>,
    /// The events' formats in the buffer, in the order of begin and end; one where both are the same.
    formats: Vec<(String, TracepointFormat)>,
    pipes: Vec<(Cpu, File)>,
    page: Vec<u8>,
}

/// What one reading found.
#[derive(Default)]
pub(super) struct Reading {
    /// In no order.
    pub(super) occurrences: Vec<Occurrence>,
    /// Whether events were overwritten before they were read.
    pub(super) has_missed: bool,
}

impl Instance {
    /// The buffer, which is filled from now on.
    ///
    /// # Errors
    /// Where the machine has no such event, or this process may not do that.
    pub(super) fn make(tree: &Tree, pair: &EventPair, tids: &[u32]) -> Result<Instance> {
        let tracing = ["sys/kernel/tracing", "sys/kernel/debug/tracing"].map(|place| tree.at(place));
        let tracing = tracing.into_iter().find(|folder| folder.join("instances").is_dir()).context(
            "--begin needs tracefs: run as root, and mount -t tracefs tracefs /sys/kernel/tracing",
        )?;
        remove_left(&tracing, tree);
        let name = format!("{NAME}{}", std::process::id());
        let folder = tracing.join("instances").join(&name);
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let mut instance = Instance {
            tracing,
            folder,
            group: name,
            copies: Vec::new(),
            formats: Vec::new(),
            pipes: Vec::new(),
            page: vec![0; PAGE],
        };
        instance.fill(pair, tids)?;
        Ok(instance)
    }

    fn fill(&mut self, pair: &EventPair, tids: &[u32]) -> Result<()> {
        // Its times are those of marks and of clock pairs.
        self.write("trace_clock", "x86-tsc").context("the kernel has no trace clock x86-tsc")?;
        self.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        if !tids.is_empty() {
            let list: Vec<String> = tids.iter().map(u32::to_string).collect();
            self.write("set_event_pid", &list.join(" "))?;
        }
        // Names of threads would be looked up at each switch.
        let _ = self.write("options/record-cmd", "0");
        let patterns = if pair.begin == pair.end { vec![&pair.begin] } else { vec![&pair.begin, &pair.end] };
        let mut places = Vec::new();
        for (pattern, copy) in patterns.into_iter().zip(["begin", "end"]) {
            let place = self.place(pattern, copy)?;
            let format = fs::read(self.folder.join(&place).join("format"))?;
            let group = pattern.name.split(':').next().unwrap_or_default();
            let format = TracepointFormat::parse(group, &format).context("the event's format")?;
            if !self.formats.iter().any(|(_, known)| known.id() == format.id()) {
                self.formats.push((pattern.name.clone(), format));
                places.push((place, pattern));
            } else if let Some((place, _)) = places.iter().find(|(known, _)| *known == place) {
                // Both conditions hold of one event: each occurrence is looked at.
                let _ = self.write(&format!("{place}/filter"), "0");
            }
        }
        for cpu in numbered(&self.folder.join("per_cpu"), "cpu") {
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
            let path = self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let pipe = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            let pipe = pipe.with_context(|| format!("{} cannot be opened", path.display()))?;
            self.pipes.push((Cpu(u32::try_from(cpu)?), pipe));
        }
        for (place, _) in &places {
            self.write(&format!("{place}/enable"), "1")
                .with_context(|| format!("{place} cannot be enabled"))?;
        }
        Ok(())
    }

    /// Where the event lies in the buffer's folder. Events that do not meet the conditions are left out by the kernel where it knows
    /// such conditions: later they are looked at again.
    fn place(&mut self, pattern: &EventPattern, copy: &'static str) -> Result<String> {
        let (group, name) = pattern.name.split_once(':').with_context(|| {
            format!("{}: an event of the kernel is named GROUP:NAME, as perf list has it", pattern.name)
        })?;
        let uprobes = fs::read_to_string(self.tracing.join("uprobe_events")).unwrap_or_default();
        let place = match uprobes.lines().find_map(|line| copied(line, &pattern.name, &self.group, copy)) {
            Some(definition) => {
                self.define(&definition).with_context(|| format!("{} cannot be copied", pattern.name))?;
                self.copies.push(copy);
                format!("events/{}/{copy}", self.group)
            }
            None => format!("events/{group}/{name}"),
        };
        ensure!(
            self.folder.join(&place).join("enable").exists(),
            "the kernel has no event {}: perf list shows what there is, and perf probe adds one",
            pattern.name
        );
        if let Some(filter) = pattern.filter() {
            let _ = self.write(&format!("{place}/filter"), &filter);
        }
        Ok(place)
    }

    fn define(&self, probe: &str) -> std::io::Result<()> {
        let mut events = OpenOptions::new().append(true).open(self.tracing.join("uprobe_events"))?;
        events.write_all(format!("{probe}\n").as_bytes())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        let written =
            OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("{text} cannot be written to {}", path.display()))
    }

    /// How many events were lost in all: overwritten before they were read.
    pub(super) fn lost(&self) -> u64 {
        let stats = |(cpu, _): &(Cpu, File)| {
            fs::read_to_string(self.folder.join(format!("per_cpu/cpu{}/stats", cpu.0))).unwrap_or_default()
        };
        self.pipes.iter().map(|pipe| lost_of(&stats(pipe))).sum()
    }

    /// What has come since the last reading, from one CPU after the other.
    ///
    /// # Errors
    /// Where a condition or the key cannot be had of the events.
    pub(super) fn read(&mut self, pair: &EventPair) -> Result<Reading> {
        let mut reading = Reading::default();
        for (cpu, pipe) in &mut self.pipes {
            for _ in 0..MOST_PAGES {
                // An error means that it is empty.
                let Ok(length @ 1..) = pipe.read(&mut self.page) else { break };
                let Some(page) = Page::of(&self.page[..length]) else { break };
                reading.has_missed |= page.has_missed;
                for event in page {
                    let raw = event.payload;
                    let Some((name, format)) = format_of(&self.formats, raw) else { continue };
                    let tid = format
                        .field("common_pid")
                        .and_then(|field| field.value(raw))
                        .and_then(FieldValue::as_i64);
                    let Some(tid) = tid.and_then(|tid| i32::try_from(tid).ok()) else { continue };
                    if let Some(role) = pair.role(name, format, raw)? {
                        let (time, cpu) = (event.time, *cpu);
                        reading.occurrences.push(Occurrence { time, cpu, tid: Tid(tid), role });
                    }
                }
            }
        }
        Ok(reading)
    }
}

/// How many events a CPU's buffer has lost, by its `stats`: those that were overwritten, and those for which there was no room.
fn lost_of(stats: &str) -> u64 {
    let counts = stats.lines().filter_map(|line| {
        let (name, count) = line.split_once(':')?;
        ["overrun", "dropped events"].contains(&name.trim()).then(|| count.trim().parse::<u64>().ok())?
    });
    counts.sum()
}

/// The format of an event, by the number at its beginning.
fn format_of<'a>(
    formats: &'a [(String, TracepointFormat)],
    raw: &[u8],
) -> Option<&'a (String, TracepointFormat)> {
    let id = u64::from(u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?));
    formats.iter().find(|(_, format)| format.id() == id)
}

/// The definition of the uprobe that `line` defines, with another group and name; `None` where it defines another event than `event`.
fn copied(line: &str, event: &str, group: &str, name: &str) -> Option<String> {
    let (kind, rest) = line.split_once(':')?;
    let (own, place) = rest.split_once(' ')?;
    (own.replace('/', ":") == event).then(|| format!("{kind}:{group}/{name} {place}"))
}

/// Removes what processes that were killed have left.
fn remove_left(tracing: &Path, tree: &Tree) {
    for name in names(&tracing.join("instances")) {
        let Some(process) = name.strip_prefix(NAME) else { continue };
        let is_number = process.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && !tree.has(&format!("proc/{process}")) {
            remove(tracing, &name, &["begin", "end"]);
        }
    }
}

/// Removes the instance of this name, and copies of uprobes.
fn remove(tracing: &Path, name: &str, copies: &[&str]) {
    // What cannot be removed records nothing once it is disabled.
    let instance = tracing.join("instances").join(name);
    let _ = fs::write(instance.join("events/enable"), "0");
    let _ = fs::remove_dir(&instance);
    for copy in copies {
        let events = OpenOptions::new().append(true).open(tracing.join("uprobe_events"));
        let _ = events.and_then(|mut events| events.write_all(format!("-:{name}/{copy}\n").as_bytes()));
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.pipes.clear();
        remove(&self.tracing, &self.group, &self.copies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel prints it (`tracing_stats_read`).
    #[test]
    fn lost_events_are_those_overwritten_and_those_dropped() {
        let stats = "entries: 1021\noverrun: 37\ncommit overrun: 5\nbytes: 4096\noldest event ts: 1\nnow ts: 2\n\
            dropped events: 3\nread events: 900\n";
        assert_eq!((lost_of(stats), lost_of("")), (40, 0));
    }

    #[test]
    fn a_uprobe_is_copied_with_its_place_and_fields() {
        let copy = |line: &str| copied(line, "probe_app:handle", "tailtrace_7", "begin");
        assert_eq!(
            copy("p:probe_app/handle /usr/bin/app:0x0000000000001159 id=%di:s32"),
            Some("p:tailtrace_7/begin /usr/bin/app:0x0000000000001159 id=%di:s32".to_owned())
        );
        assert_eq!(
            copy("r8:probe_app/handle /usr/bin/app:0x1159(0x4010)"),
            Some("r8:tailtrace_7/begin /usr/bin/app:0x1159(0x4010)".to_owned())
        );
        assert_eq!(
            [copy("p:probe_app/handle2 /app:0x1"), copy("p:other/handle /app:0x1"), copy("")],
            [None, None, None]
        );
    }
}
