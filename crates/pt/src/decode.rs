//! Decodes a window with libipt, run by run.
//!
//! A run is a stretch of trace that lies in one place in memory: in a piece of the stream, or copied where a sync
//! period straddles two pieces or goes on after a fault. Runs meet at PSBs, and exactly: a run ends at the
//! instruction that the next one's first sync point names, so that the flow is as if there were no border.

use model::CodeBytes;

use crate::blocks;
use crate::classes::ClassCache;
use crate::config::{Limits, PtConfig};
use crate::emit::Emitter;
use crate::engine::{DecodeStats, Engine, Libipt, Window};
use crate::error::Error;
use crate::flow::GapReason;
use crate::packets::PSB;
use crate::presence::Presence;
use crate::recovery::{self, Resume};
use crate::run::{Border, Run, RunEnd, Trouble};
use crate::sink::FlowSink;
use crate::stream::PtStream;
use crate::sync::SyncPoint;
use crate::sys::ImageStore;

/// Bytes of a PSB+ copied after a run's border, so that libipt can read it whole.
const PSB_PLUS_BYTES: usize = 512;
/// Room before copied trace for a synthetic PSB+ longer than what it replaces.
const HEADROOM: usize = 64;

impl Engine for Libipt {
    fn decode(
        &mut self,
        window: &Window<'_>,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        self.decode_span(window, None, u64::MAX, image, sink)
    }
}

impl Libipt {
    /// Decodes `window` from the sync point `start` on, or from where it begins, and not beyond the sync point at
    /// `stop`.
    pub(crate) fn decode_span(
        &mut self,
        window: &Window<'_>,
        start: Option<SyncPoint>,
        stop: u64,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        let images = match self.images.take() {
            Some(images) => images,
            None => ImageStore::new(&self.limits)?,
        };
        let images = self.images.insert(images);
        let start = start.or_else(|| window.stream.sync_point_before(window.range.start));
        let at = start.and_then(|start| start.tsc).unwrap_or(window.range.start);
        let mut walk = Walk {
            config: &self.config,
            limits: &self.limits,
            stream: window.stream,
            stop,
            code: image,
            presence: Presence::new(window.occupants, image, at),
            emitter: Emitter::new(sink, window.range),
            classes: &mut self.classes,
            may_switch: true,
            stand_ins: Vec::new(),
        };
        walk.window(start, images, &mut self.scratch)?;
        Ok(walk.emitter.finish(None))
    }
}

/// A window's decode in progress.
pub(crate) struct Walk<'w> {
    pub(crate) config: &'w PtConfig,
    pub(crate) limits: &'w Limits,
    pub(crate) stream: &'w PtStream<'w>,
    /// A sync point not to go beyond.
    pub(crate) stop: u64,
    pub(crate) code: &'w dyn CodeBytes,
    pub(crate) presence: Presence<'w>,
    pub(crate) emitter: Emitter<'w>,
    pub(crate) classes: &'w mut ClassCache,
    /// The last thing executed lies in the kernel, or nothing is traced: a thread switch may have happened.
    pub(crate) may_switch: bool,
    /// Positions of the EXSTOPs in the scratch buffer that no processor wrote.
    pub(crate) stand_ins: Vec<u64>,
}

/// Where the next run's bytes lie.
enum RunBytes {
    /// In the stream, from this PSB on.
    Stream(u64),
    /// In the scratch buffer from `start` on, the first `synthetic` bytes made up; `base` is the stream position of
    /// the buffer's first byte (it wraps).
    Scratch { start: usize, base: u64, synthetic: usize },
}

impl Walk<'_> {
    fn window(
        &mut self,
        first: Option<SyncPoint>,
        images: &mut ImageStore,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some(first) = first else {
            if !self.stream.is_empty() {
                self.emitter.gap(GapReason::NoSync, self.stream.start(), self.stream.end());
            }
            return Ok(());
        };
        let start = self.stream.start();
        if Some(first.offset) == self.stream.psb_from(start)
            && has_packets(&self.stream.bytes(start, 0), first.offset - start)
        {
            self.emitter.gap(GapReason::NoSync, start, first.offset);
        }
        let mut place = self.enter(first.offset, scratch);
        while let Some(here) = place {
            if self.emitter.done() {
                break;
            }
            place = self.step(&here, images, scratch)?;
        }
        Ok(())
    }

    /// Decodes one run and says where the next one is.
    fn step(
        &mut self,
        place: &RunBytes,
        images: &mut ImageStore,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<RunBytes>, Error> {
        let (run, piece_end) = match *place {
            RunBytes::Stream(position) => {
                let Some(index) = self.stream.piece_at(position) else { return Ok(None) };
                let piece = self.stream.pieces[index];
                let skip = usize::try_from(position - piece.start).unwrap_or(usize::MAX);
                let border = if self.stream.goes_on(index) { Border::Last } else { Border::None };
                (Run { bytes: &piece.bytes[skip..], base: position, synthetic: 0, border }, piece.end())
            }
            RunBytes::Scratch { start, base, synthetic } => {
                let bytes = &scratch[start..];
                let base = base.wrapping_add(start as u64);
                (Run { bytes, base, synthetic, border: Border::First }, base.wrapping_add(bytes.len() as u64))
            }
        };
        let end = self.run(run, images)?;
        Ok(match end {
            RunEnd::Done => None,
            RunEnd::Border(position) if position >= self.stop => None,
            RunEnd::Border(position) => self.enter(position, scratch),
            RunEnd::Exhausted => self.behind(piece_end, scratch),
            RunEnd::Fault(trouble) => {
                // Never at what was entered by already, which a synthetic PSB+ repeats.
                let least = run.synthetic.max(trouble.sync + 1);
                let trouble = Trouble { at: trouble.at.max(run.synthetic), ..trouble };
                let resume = recovery::resume(run.bytes, trouble.sync, trouble.at, least);
                self.recover(trouble, run.base, resume, place, scratch)
            }
        })
    }

    /// Where to decode from the PSB at `position`: in the stream, or copied where its period straddles two pieces or
    /// holds what libipt cannot read.
    fn enter(&mut self, position: u64, scratch: &mut Vec<u8>) -> Option<RunBytes> {
        if position >= self.stop {
            return None;
        }
        let index = self.stream.piece_at(position)?;
        let in_piece = !self.stream.goes_on(index) || self.period_in_piece(position);
        if in_piece && !self.holds_blocks(position) {
            return Some(RunBytes::Stream(position));
        }
        Some(self.copy(position, &[], scratch))
    }

    /// Copies `prefix` and the period's bytes from `from` on, up to and with the next PSB+.
    fn copy(&mut self, from: u64, prefix: &[u8], scratch: &mut Vec<u8>) -> RunBytes {
        let own = if prefix.is_empty() { PSB.len() as u64 } else { 0 };
        let next = self.stream.psb_from(from + own);
        let length = next.map_or(u64::MAX, |next| next - from + PSB_PLUS_BYTES as u64);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.limits.bridge_bytes);
        scratch.clear();
        scratch.resize(HEADROOM, 0);
        scratch.extend_from_slice(prefix);
        let (start, copied) = (HEADROOM, scratch.len());
        let bytes = self.stream.bytes(from, length);
        scratch.extend_from_slice(&bytes[..bytes.len().min(length)]);
        let stand_ins = blocks::blank(&mut scratch[copied..]);
        self.stand_ins = stand_ins.into_iter().map(|offset| from + offset as u64).collect();
        RunBytes::Scratch { start, base: from.wrapping_sub(copied as u64), synthetic: prefix.len() }
    }

    /// Whether the period that begins with the PSB at `position` holds packets that libipt cannot read. Looks at the
    /// part of it that lies in one piece: a period that straddles pieces is copied anyway.
    pub(crate) fn holds_blocks(&self, position: u64) -> bool {
        let period = self.stream.bytes(position, 0);
        let length = memchr::memmem::find(period.get(PSB.len()..).unwrap_or_default(), &PSB);
        blocks::holds_blocks(&period[..length.map_or(period.len(), |length| length + PSB.len())])
    }

    /// Whether the next PSB+ after the PSB at `position` lies in the same piece.
    pub(crate) fn period_in_piece(&self, position: u64) -> bool {
        let Some(index) = self.stream.piece_at(position) else { return false };
        let next = self.stream.psb_from(position + PSB.len() as u64);
        next.is_some_and(|next| next + PSB_PLUS_BYTES as u64 <= self.stream.pieces[index].end())
    }

    /// Goes on after the bytes that end at `end`, if there are more.
    fn behind(&mut self, end: u64, scratch: &mut Vec<u8>) -> Option<RunBytes> {
        let next = self.stream.psb_from(end);
        if end < self.stream.end() {
            // Bytes that are there but cannot be entered have lost their sync point to an overflow.
            let there = self.stream.piece_at(end).is_some();
            let reason = if there { GapReason::NoSync } else { GapReason::MissingAux };
            self.emitter.gap(reason, end, next.unwrap_or(self.stream.end()));
        }
        self.enter(next?, scratch)
    }

    /// Accounts for what could not be decoded, and goes on at `resume`, an offset into the last run's bytes.
    fn recover(
        &mut self,
        trouble: Trouble,
        base: u64,
        resume: Resume,
        place: &RunBytes,
        scratch: &mut Vec<u8>,
    ) -> Option<RunBytes> {
        let position = |offset: usize| base.wrapping_add(offset as u64);
        let failed = position(trouble.at);
        match resume {
            Resume::Nowhere => {
                let next = self.stream.psb_from(failed + 1);
                self.emitter.gap(trouble.reason, failed, next.unwrap_or(self.stream.end()));
                self.enter(next?, scratch)
            }
            Resume::Sync(offset) => {
                self.emitter.gap(trouble.reason, failed, position(offset));
                self.enter(position(offset), scratch)
            }
            Resume::Enable { at, after, prefix } => {
                self.emitter.gap(trouble.reason, failed, position(at));
                Some(self.splice(position(after), &prefix, place, scratch))
            }
        }
    }

    /// Puts `prefix` before the trace from `after` on, up to the next PSB.
    fn splice(&mut self, after: u64, prefix: &[u8], place: &RunBytes, scratch: &mut Vec<u8>) -> RunBytes {
        if let RunBytes::Scratch { base, .. } = *place {
            // What stood before is already consumed: there is room, in place.
            let end = usize::try_from(after.wrapping_sub(base)).unwrap_or(usize::MAX).min(scratch.len());
            if let Some(start) = end.checked_sub(prefix.len()) {
                scratch[start..end].copy_from_slice(prefix);
                return RunBytes::Scratch { start, base, synthetic: prefix.len() };
            }
        }
        self.copy(after, prefix, scratch)
    }
}

/// Whether any of the first `count` bytes is more than padding.
fn has_packets(bytes: &[u8], count: u64) -> bool {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(bytes.len());
    bytes[..count].iter().any(|&byte| byte != 0)
}

#[cfg(test)]
mod tests;
