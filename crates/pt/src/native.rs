//! The project's own decoder: packets and code walked side by side.
//!
//! ```text
//!            bytes            packets              cues                  blocks, events, gaps
//! stream ─→ lexer ─────────→ cues ──────────────→ walk ──────────────→ emitter ─→ sink
//!            across pieces    what binds to what   │  ↑
//!                             timing: the clock    │  └ returns: where a compressed return leads
//!                                                  ↓
//!                                                 blocks: code, decoded once
//!                             recovery: after damage on at the next TIP.PGE or PSB
//! ```
//!
//! Same input and output as the engine that uses libipt, against which it is held (`tests/engines.rs`); where they
//! differ is in `docs/engines.md`. The rooms import to the left only: `errata` < `lexer`, `timing` < `blocks` < `returns` < `cues` <
//! `walk` < `recovery`. Source: Intel SDM vol. 3, "Intel Processor Trace"; each room names its sections.

mod blocks;
mod cues;
mod errata;
mod lexer;
mod recovery;
mod returns;
mod timing;
mod walk;

use model::CodeBytes;

use crate::config::{Limits, PtConfig};
use crate::engine::{DecodeStats, Engine, Window};
use crate::error::Error;
use crate::sink::FlowSink;
use crate::sync::SyncPoint;
use blocks::CodeMap;

/// The engine without libipt. Holds the code blocks of one worker thread, by the ids of their epochs: all its windows
/// must come with the same [`CodeBytes`].
pub struct Native {
    config: PtConfig,
    limits: Limits,
    map: CodeMap,
}

impl Native {
    /// An engine for traces recorded with `config`.
    pub fn new(config: PtConfig, limits: Limits) -> Native {
        Native { config, limits, map: CodeMap::new() }
    }

    /// Decodes `window` from the sync point `start` on, or from where it begins, and not beyond the sync point at
    /// `stop`.
    pub(crate) fn decode_span(
        &mut self,
        window: &Window<'_>,
        start: Option<SyncPoint>,
        stop: u64,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> DecodeStats {
        let start = start.or_else(|| window.stream.sync_point_before(window.range.start));
        let walk = walk::Walk::new(&self.config, &self.limits, &mut self.map, window, start, image, sink);
        recovery::window(walk, start, stop)
    }
}

impl Engine for Native {
    fn decode(
        &mut self,
        window: &Window<'_>,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        Ok(self.decode_span(window, None, u64::MAX, image, sink))
    }
}
