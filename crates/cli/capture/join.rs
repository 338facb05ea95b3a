//! Puts the PT bytes of each CPU or thread together, wherever the file keeps them.
//!
//! Input: AUXTRACE payloads, or the pieces beside samples. Output: one stream per CPU or thread, and what is missing in it.

use std::collections::BTreeMap;

use model::{Cpu, Diagnostic, Tid, Tsc};
use perfdata::{AuxBuffer, AuxSample};
use pt::{Piece, PtStream};

use super::Capture;

impl<'a> Capture<'a> {
    /// Groups the AUX buffers by who wrote them.
    pub(super) fn join_buffers(&mut self) {
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
    pub(super) fn join_samples(&mut self) {
        let mut groups: BTreeMap<Cpu, Vec<&AuxSample>> = BTreeMap::new();
        for sample in self.perf.aux_samples() {
            if let Some(cpu) = sample.cpu {
                groups.entry(cpu).or_default().push(sample);
            }
        }
        for (cpu, samples) in groups {
            let first = samples.first().and_then(|sample| sample.time).zip(self.conversion());
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
        // A slice is meant to have holes; those of its recording it tells itself.
        if self.perf.slice_note().is_none() {
            self.stream_diagnostics.extend(diagnostics);
        }
        match owner {
            (Some(cpu), _) => drop(self.by_cpu.insert(cpu, stream)),
            (None, Some(thread)) => drop(self.by_thread.insert(thread, stream)),
            (None, None) => {}
        }
    }
}
