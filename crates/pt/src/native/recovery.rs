//! A window from its first sync point to its end: over holes, and on after damage.
//!
//! ```text
//! PSB ......✗......TIP.PGE........PSB .......|   hole   |...PSB ......
//!           └ gap ─┘ on, time kept            └── gap ──────┘
//! ```
//!
//! After damage the packets say where execution is again at the next TIP.PGE or PSB, whichever comes first; the time
//! goes on over what is skipped. Invariant: each resumption lies after the one before. Source: Intel SDM vol. 3,
//! "Intel Processor Trace", "PSB Packet", "TIP.PGE".

use super::cues::Resume;
use super::walk::{Stop, Walk};
use crate::engine::DecodeStats;
use crate::flow::GapReason;
use crate::stream::PtStream;
use crate::sync::SyncPoint;

/// Decodes from `first` on, up to the end of the stream, of the window or at the sync point at `stop`.
pub(super) fn window(mut walk: Walk<'_>, first: Option<SyncPoint>, stop: u64) -> DecodeStats {
    let stream = walk.stream;
    let Some(first) = first else {
        if !stream.is_empty() {
            walk.emitter.gap(GapReason::NoSync, stream.start(), stream.end());
        }
        return walk.finish();
    };
    let start = stream.start();
    if Some(first.offset) == stream.psb_from(start) && has_packets(stream, first.offset - start) {
        walk.emitter.gap(GapReason::NoSync, start, first.offset);
    }
    let mut place = Some(Resume::Sync(first.offset));
    // Nothing before it is entered again.
    let mut least = first.offset;
    while let Some(here) = place.filter(|_| !walk.is_done()) {
        match here {
            Resume::Sync(position) if position >= stop => break,
            Resume::Sync(position) => walk.enter(position),
            Resume::Enable(_) => walk.resume(),
        }
        let (Resume::Sync(position) | Resume::Enable(position)) = here;
        least = least.max(position + 1);
        place = match walk.run(stop) {
            Stop::Done | Stop::Border => None,
            Stop::End => after_end(&mut walk).map(Resume::Sync),
            Stop::Fault(reason) => recover(&mut walk, reason, least),
        };
    }
    walk.finish()
}

/// Goes on after bytes that end.
fn after_end(walk: &mut Walk<'_>) -> Option<u64> {
    let (stream, end) = (walk.stream, walk.cues.lexer.stretch_end());
    let next = stream.psb_from(end);
    if end < stream.end() {
        // Bytes that are there but cannot be entered have lost their sync point to an overflow.
        let there = stream.piece_at(end).is_some();
        let reason = if there { GapReason::NoSync } else { GapReason::MissingAux };
        walk.emitter.gap(reason, end, next.unwrap_or(stream.end()));
    }
    next
}

/// Accounts for what could not be decoded, and finds where to go on.
fn recover(walk: &mut Walk<'_>, reason: GapReason, least: u64) -> Option<Resume> {
    // Where the way to a sync point is not found, it is still one.
    if let Some(psb) = walk.pending_sync().filter(|&psb| psb >= least) {
        walk.emitter.gap(reason, psb, psb);
        return Some(Resume::Sync(psb));
    }
    let failed = walk.at();
    let resume = walk.cues.skip(failed, least.max(failed)).or_else(|| {
        let next = walk.stream.psb_from(least.max(failed + 1));
        next.map(Resume::Sync)
    });
    let to = match resume {
        Some(Resume::Sync(position) | Resume::Enable(position)) => position,
        None => walk.stream.end(),
    };
    walk.emitter.gap(reason, failed, to);
    resume
}

/// Whether any of the first `count` bytes is more than padding.
fn has_packets(stream: &PtStream<'_>, count: u64) -> bool {
    let bytes = stream.bytes(stream.start(), 0);
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len());
    bytes[..count].iter().any(|&byte| byte != 0)
}
