//! How one CPU's PT bytes are cut into AUX records and AUXTRACE buffers.
//!
//! Invariant: a cut lies before a PSB, for perf wants whole packets; only a snapshot begins where its ring does.

use std::ops::Range;

use crate::scenario::execution::{Aside, Finished};
use crate::scenario::program::Machine;

/// One AUX record and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which bytes of the CPU's trace.
    pub(super) bytes: Range<usize>,
    /// TSC at its first sync point.
    pub(super) begin: u64,
    /// TSC at its end.
    pub(super) end: u64,
    /// Flags of the AUX record (`PERF_AUX_FLAG_…`).
    pub(super) flags: u64,
}

/// The ring was overwritten (`PERF_AUX_FLAG_OVERWRITE`).
const OVERWRITE: u64 = 2;

/// Cuts at the first PSB behind each so many bytes, and where the buffer was full.
pub(super) fn pieces(finished: &Finished, machine: &Machine) -> Vec<Piece> {
    if machine.snapshot.is_some() {
        return snapshot(finished).into_iter().collect();
    }
    let mut flags: Vec<(u64, u64)> = finished
        .asides
        .iter()
        .filter_map(|(tsc, aside)| match aside {
            Aside::AuxFlags(flags) => Some((*tsc, *flags)),
            _ => None,
        })
        .collect();
    let mut pieces = Vec::new();
    let mut start = finished.sync_points.first().copied();
    while let Some((offset, begin)) = start {
        let is_cut = |&&(at, _): &&(usize, u64)| {
            at >= offset + machine.buffer_bytes.max(1) || (at > offset && finished.full.contains(&at))
        };
        let next = finished.sync_points.iter().find(is_cut).copied();
        let (stop, end) = next.unwrap_or((finished.bytes.len(), finished.end));
        let later = flags.iter().take_while(|&&(tsc, _)| tsc <= end).count();
        let bits = flags.drain(..later).fold(0, |bits, (_, more)| bits | more);
        pieces.push(Piece { bytes: offset..stop, begin, end, flags: bits });
        start = next;
    }
    pieces
}

/// What the ring still holds at the end.
fn snapshot(finished: &Finished) -> Option<Piece> {
    let from = finished.kept_from;
    let first = finished.sync_points.iter().find(|&&(offset, _)| offset >= from)?;
    let flags = if from > 0 { OVERWRITE } else { 0 };
    Some(Piece { bytes: from..finished.bytes.len(), begin: first.1, end: finished.end, flags })
}
