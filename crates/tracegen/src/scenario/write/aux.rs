//! How the PT bytes of one buffer are cut into AUX records and AUXTRACE records.
//!
//! Invariant: a cut lies before a PSB, for perf wants whole packets; only a snapshot begins where its ring does.
//! Source: `tools/perf/util/auxtrace.c` (`__auxtrace_mmap__read`); Linux 6.1 `arch/x86/events/intel/pt.c` (`pt_event_stop`).

use std::ops::Range;

use crate::scenario::execution::Finished;
use crate::scenario::program::{Machine, Ring};

/// The bytes of one AUXTRACE record, and what the AUX record says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuxPiece {
    /// Which bytes of the trace.
    pub(super) bytes: Range<usize>,
    /// Their offset as the AUXTRACE record says it.
    pub(super) offset: u64,
    /// Offset and size as the AUX record says them.
    pub(super) told: (u64, u64),
    /// TSC at its first sync point.
    pub(super) begin: u64,
    /// TSC at its end.
    pub(super) end: u64,
    /// Flags of the AUX record (`PERF_AUX_FLAG_…`).
    pub(super) flags: u64,
}

/// The ring was overwritten (`PERF_AUX_FLAG_OVERWRITE`).
const OVERWRITE: u64 = 2;

/// Cuts at the first PSB after each so many bytes, and where the buffer was full.
pub(super) fn pieces(finished: &Finished, machine: &Machine) -> Vec<AuxPiece> {
    if let Ring::Snapshots(size) = machine.ring {
        return snapshots(finished, size);
    }
    let mut flags = finished.flags.clone();
    let mut pieces = Vec::new();
    let mut start = finished.sync_points.first().copied();
    while let Some((offset, begin)) = start {
        let is_cut = |&&(at, _): &&(usize, u64)| {
            at >= offset + machine.buffer_bytes.max(1) || (at > offset && finished.full.contains(&at))
        };
        let next = finished.sync_points.iter().find(is_cut).copied();
        let (stop, end) = next.unwrap_or((finished.bytes.len(), finished.end));
        let later = flags.iter().take_while(|&&(tsc, _)| tsc <= end).count();
        let flags = flags.drain(..later).fold(0, |bits, (_, more)| bits | more);
        let told = (offset as u64, (stop - offset) as u64);
        pieces.push(AuxPiece { bytes: offset..stop, offset: told.0, told, begin, end, flags });
        start = next;
    }
    pieces
}

/// What each copy of the ring of `size` bytes holds. An AUX record gives the place where the ring's newest byte lies; an AUXTRACE
/// record counts as if the ring had been filled once before.
fn snapshots(finished: &Finished, size: usize) -> Vec<AuxPiece> {
    let mut pieces = Vec::new();
    let mut has_wrapped = false;
    for copy in &finished.copied {
        let bytes = copy.bytes.clone();
        has_wrapped |= bytes.end > size;
        let newest = (bytes.end % size) as u64;
        let offset = if has_wrapped { newest } else { bytes.start as u64 };
        let begin =
            finished.sync_points.iter().find(|(at, _)| bytes.contains(at)).map_or(copy.tsc, |point| point.1);
        let told = (newest, size as u64);
        pieces.push(AuxPiece { bytes, offset, told, begin, end: copy.tsc, flags: OVERWRITE });
    }
    pieces
}
