//! One AUX buffer while the scenario runs: the trace of a CPU, or of a thread, and what perf copied of it.
//!
//! Invariant: the instructions kept are those that a decoder can find: from the first sync point of what was copied on.
//! Source: `tools/perf/util/auxtrace.c` (`__auxtrace_mmap__read`), `tools/perf/arch/x86/util/intel-pt.c`
//! (`intel_pt_find_snapshot`), Linux 6.1 `arch/x86/events/intel/pt.c` (`pt_event_snapshot_aux`).

use std::ops::Range;

use super::Retired;
use crate::encoder::Encoder;
use crate::packet::ExecMode;
use crate::scenario::program::{Machine, Ring};

/// Whose trace a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The CPU of this number.
    Cpu(u32),
    /// The thread with this id.
    Thread(u32),
}

/// What perf copied out of a ring at once: a snapshot, or the trace beside a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scenario) struct Copied {
    /// Which bytes of the trace.
    pub(in crate::scenario) bytes: Range<usize>,
    /// When, in TSC ticks.
    pub(in crate::scenario) tsc: u64,
    /// The index of the thread that ran then, and its next instruction.
    pub(in crate::scenario) thread: usize,
    pub(in crate::scenario) ip: u64,
    /// How many instructions had retired.
    retired: usize,
}

/// The trace of one CPU or thread while it grows.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) encoder: Encoder,
    pub(super) retired: Vec<Retired>,
    /// For each sync point: how many instructions had retired.
    synced: Vec<usize>,
    /// Offsets at which tracing began anew because the buffer had been full.
    full: Vec<usize>,
    /// Flags for the AUX record whose bytes end after this time.
    pub(super) flags: Vec<(u64, u64)>,
    copied: Vec<Copied>,
}

/// A buffer at the end.
#[derive(Debug)]
pub(in crate::scenario) struct Finished {
    pub(in crate::scenario) owner: Owner,
    pub(in crate::scenario) bytes: Vec<u8>,
    pub(in crate::scenario) sync_points: Vec<(usize, u64)>,
    pub(in crate::scenario) retired: Vec<Retired>,
    /// Sync points before which the buffer had been full.
    pub(in crate::scenario) full: Vec<usize>,
    pub(in crate::scenario) flags: Vec<(u64, u64)>,
    /// What was copied of a ring; empty where all was written.
    pub(in crate::scenario) copied: Vec<Copied>,
    pub(in crate::scenario) end: u64,
}

impl Buffer {
    pub(super) fn new(machine: &Machine) -> Buffer {
        let mut encoder = Encoder::new(machine.settings);
        if let Some(rule) = machine.broken {
            encoder.break_rule(rule);
        }
        Buffer {
            encoder,
            retired: Vec::new(),
            synced: Vec::new(),
            full: Vec::new(),
            flags: Vec::new(),
            copied: Vec::new(),
        }
    }

    /// Notes how many instructions stand before a sync point that was just written.
    pub(super) fn note_sync_points(&mut self) {
        self.synced.resize(self.encoder.sync_points().len(), self.retired.len());
    }

    /// Notes that the buffer was full before the sync point that was just written.
    pub(super) fn note_full(&mut self) {
        self.note_sync_points();
        self.full.extend(self.encoder.sync_points().last().map(|&(offset, _)| offset));
    }

    /// The kernel switches tracing on: a PSB, and the way in if the code at `ip` is `visible`.
    pub(super) fn start(&mut self, tsc: u64, (ip, mode): (u64, ExecMode), visible: bool) {
        if visible {
            self.encoder.start(tsc, ip, mode);
        } else {
            self.encoder.switch_on(tsc);
        }
        self.note_sync_points();
    }

    /// perf copies what `ring` holds while `thread` is before its instruction at `ip`. Tracing is stopped during the copy: begun
    /// anew after a snapshot, gone on with after a sample.
    pub(super) fn copy(&mut self, tsc: u64, ring: Ring, thread: usize, (ip, mode): (u64, ExecMode)) {
        let traced = self.encoder.is_enabled();
        if traced {
            self.encoder.disable_at(tsc, ip);
        }
        let end = self.encoder.written();
        let previous = self.copied.last().map_or(0, |copied| copied.bytes.end);
        // A ring that was not full yet is copied from where the last snapshot ended, one that was as a whole.
        let begin = match ring {
            Ring::Snapshots(bytes) => end.checked_sub(bytes).filter(|&begin| begin > 0).unwrap_or(previous),
            Ring::Samples(bytes) => end.saturating_sub(bytes),
            Ring::None => return,
        };
        self.copied.push(Copied { bytes: begin..end, tsc, thread, ip, retired: self.retired.len() });
        match ring {
            Ring::Samples(_) if traced => self.encoder.enable(tsc, ip, mode),
            Ring::Snapshots(_) => self.start(tsc, (ip, mode), traced),
            _ => {}
        }
    }

    /// The buffer of `owner` when the scenario ends at `end`, where `ip` comes next.
    pub(super) fn finish(mut self, owner: Owner, end: u64, ip: Option<u64>, ring: Ring) -> Finished {
        if let (true, Some(ip)) = (self.encoder.is_enabled(), ip) {
            self.encoder.disable_at(end, ip);
        }
        let (bytes, sync_points) = self.encoder.finish();
        if let (Ring::Snapshots(size), true) = (ring, self.copied.is_empty()) {
            let begin = bytes.len().saturating_sub(size);
            let retired = self.retired.len();
            self.copied.push(Copied { bytes: begin..bytes.len(), tsc: end, thread: 0, ip: 0, retired });
        }
        let retired = match ring {
            Ring::None => self.retired,
            _ => kept(&self.retired, &self.copied, &sync_points, &self.synced),
        };
        let (full, flags, copied) = (self.full, self.flags, self.copied);
        Finished { owner, bytes, sync_points, retired, full, flags, copied, end }
    }
}

/// The instructions of what was copied: each from its first sync point on, or from the end of the copy before it.
fn kept(retired: &[Retired], copied: &[Copied], points: &[(usize, u64)], synced: &[usize]) -> Vec<Retired> {
    let mut kept = Vec::new();
    let mut before: Option<&Copied> = None;
    for copy in copied {
        let joined = before.filter(|before| before.goes_on_in(copy, points));
        let first = points.iter().position(|(at, _)| copy.bytes.contains(at));
        let from = joined.map(|before| before.retired).or(first.and_then(|first| synced.get(first).copied()));
        kept.extend(from.and_then(|from| retired.get(from..copy.retired)).unwrap_or_default());
        before = Some(copy);
    }
    kept
}

impl Copied {
    /// Does a decoder of `later` know where it hangs together with this one? Its last sync point was copied again.
    fn goes_on_in(&self, later: &Copied, points: &[(usize, u64)]) -> bool {
        let last = points.iter().rfind(|(at, _)| self.bytes.contains(at));
        last.is_some_and(|(at, _)| *at >= later.bytes.start)
    }
}

impl Finished {
    /// The bytes that perf wrote down, as one stretch per decoder: what hangs together.
    pub(super) fn stretches(&self) -> Vec<Range<usize>> {
        if self.copied.is_empty() {
            let edges = [&[0], self.full.as_slice(), &[self.bytes.len()]].concat();
            return edges.windows(2).map(|edge| edge[0]..edge[1]).collect();
        }
        let mut stretches: Vec<Range<usize>> = Vec::new();
        let mut before: Option<&Copied> = None;
        for copy in &self.copied {
            match stretches
                .last_mut()
                .filter(|_| before.is_some_and(|b| b.goes_on_in(copy, &self.sync_points)))
            {
                Some(last) => last.end = copy.bytes.end,
                None => stretches.push(copy.bytes.clone()),
            }
            before = Some(copy);
        }
        stretches
    }
}
