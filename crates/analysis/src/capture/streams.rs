//! Puts the PT bytes of each CPU or thread together, wherever the file keeps them.
//!
//! Input: AUXTRACE payloads, or the pieces beside samples. Output: one stream per CPU or thread, and what is missing in it.

use std::collections::BTreeMap;

use model::{Cpu, Diagnostic, Tid, Tsc};
use perfdata::{AuxBuffer, AuxSample, PerfData};
use pt::{Piece, PtStream};

/// The trace of each CPU, or of each thread where those were traced.
#[derive(Debug)]
pub(super) struct Streams<'a> {
    perf: &'a PerfData,
    by_cpu: BTreeMap<Cpu, PtStream<'a>>,
    by_thread: BTreeMap<Tid, PtStream<'a>>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Streams<'a> {
    /// The streams in `perf`. Touches no AUX byte (but in snapshot mode).
    pub(super) fn of(perf: &'a PerfData) -> Streams<'a> {
        let (by_cpu, by_thread) = (BTreeMap::new(), BTreeMap::new());
        let mut streams = Streams { perf, by_cpu, by_thread, diagnostics: Vec::new() };
        streams.join_buffers();
        streams.join_samples();
        streams
    }

    /// That of a CPU, or else that of a thread.
    pub(super) fn of_stay(&self, cpu: Option<Cpu>, thread: Tid) -> Option<&PtStream<'a>> {
        cpu.and_then(|cpu| self.by_cpu.get(&cpu)).or_else(|| self.by_thread.get(&thread))
    }

    /// That of a CPU, or that of a thread: whoever `owner` names.
    pub(super) fn of_owner(&self, (cpu, thread): (Option<Cpu>, Option<Tid>)) -> Option<&PtStream<'a>> {
        let of_cpu = cpu.and_then(|cpu| self.by_cpu.get(&cpu));
        of_cpu.or_else(|| thread.and_then(|tid| self.by_thread.get(&tid)))
    }

    /// Those of all CPUs, then those of threads.
    pub(super) fn all(&self) -> impl Iterator<Item = &PtStream<'a>> {
        self.by_cpu.values().chain(self.by_thread.values())
    }

    /// Whose they are where threads were traced.
    pub(super) fn threads(&self) -> impl Iterator<Item = Tid> + '_ {
        self.by_thread.keys().copied()
    }

    /// Whether single threads were traced, each for itself, and not CPUs.
    pub(super) fn are_of_threads(&self) -> bool {
        self.by_cpu.is_empty()
    }

    /// What is missing in them.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Groups the AUX buffers by who wrote them.
    fn join_buffers(&mut self) {
        let snapshot = self.perf.intel_pt().is_some_and(|intel_pt| intel_pt.snapshot_mode);
        let mut groups: BTreeMap<(Option<Cpu>, Option<Tid>), Vec<&AuxBuffer>> = BTreeMap::new();
        for buffer in self.perf.aux_buffers() {
            let key = if buffer.cpu.is_some() { (buffer.cpu, None) } else { (None, buffer.tid) };
            groups.entry(key).or_default().push(buffer);
        }
        for ((cpu, thread), buffers) in groups {
            let reference = buffers.first().map_or(Tsc(0), |buffer| Tsc(buffer.reference));
            let pieces = buffers.into_iter().map(|buffer| Piece {
                bytes: self.perf.aux_bytes(buffer),
                aux_offset: buffer.aux_offset,
                file_offset: buffer.file_offset,
            });
            let (stream, diagnostics) = PtStream::new(cpu, thread, pieces, snapshot);
            self.keep((cpu, thread), stream.with_reference(reference), diagnostics);
        }
    }

    /// Puts the pieces of trace beside samples together: each is a small snapshot of its CPU's ring.
    fn join_samples(&mut self) {
        let mut groups: BTreeMap<Cpu, Vec<&AuxSample>> = BTreeMap::new();
        for sample in self.perf.aux_samples() {
            if let Some(cpu) = sample.cpu {
                groups.entry(cpu).or_default().push(sample);
            }
        }
        for (cpu, samples) in groups {
            let first = samples.first().and_then(|sample| sample.time).zip(self.perf.time_conversion());
            let reference = first.map_or(Tsc(0), |(time, conversion)| conversion.to_tsc(time));
            let pieces = samples.into_iter().map(|sample| Piece {
                bytes: self.perf.aux_sample_bytes(sample),
                aux_offset: 0,
                file_offset: sample.file_offset,
            });
            let (stream, diagnostics) = PtStream::new(Some(cpu), None, pieces, true);
            self.keep((Some(cpu), None), stream.with_reference(reference), diagnostics);
        }
    }

    fn keep(
        &mut self,
        owner: (Option<Cpu>, Option<Tid>),
        stream: PtStream<'a>,
        diagnostics: Vec<Diagnostic>,
    ) {
        // A slice is meant to have holes; it reports those of its recording itself.
        if self.perf.slice_note().is_none() {
            self.diagnostics.extend(diagnostics);
        }
        match owner {
            (Some(cpu), _) => drop(self.by_cpu.insert(cpu, stream)),
            (None, Some(thread)) => drop(self.by_thread.insert(thread, stream)),
            (None, None) => {}
        }
    }
}
