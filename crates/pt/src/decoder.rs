//! Either engine, by its name.

use model::CodeBytes;

use crate::config::{Limits, PtConfig};
use crate::engine::{DecodeStats, Engine, Libipt, Window};
use crate::error::Error;
use crate::native::Native;
use crate::parallel::Chunk;
use crate::sink::FlowSink;
use crate::sync::SyncPoint;

/// Which engine decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// [`Libipt`].
    Libipt,
    /// [`Native`].
    Native,
}

impl EngineKind {
    /// The one that decodes where none is named: the project's own.
    pub const USUAL: EngineKind = EngineKind::Native;

    /// `native`: as the option `--engine` has it.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Libipt => "libipt",
            EngineKind::Native => "native",
        }
    }
}

/// An engine of either kind.
pub enum Decoder {
    /// The one that uses libipt.
    Libipt(Box<Libipt>),
    /// The project's own.
    Native(Box<Native>),
}

impl Decoder {
    /// An engine of `kind` for traces recorded with `config`.
    pub fn new(kind: EngineKind, config: PtConfig, limits: Limits) -> Decoder {
        match kind {
            EngineKind::Libipt => Decoder::Libipt(Box::new(Libipt::new(config, limits))),
            EngineKind::Native => Decoder::Native(Box::new(Native::new(config, limits))),
        }
    }

    /// Decodes a chunk of `window`; see [`crate::chunks`].
    ///
    /// # Errors
    /// As [`Engine::decode`].
    pub fn decode_chunk(
        &mut self,
        window: &Window<'_>,
        chunk: Chunk,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        self.decode_span(window, chunk.start, chunk.stop, image, sink)
    }

    /// Decodes `window` from the sync point `start` on, or from where it begins, and not beyond the sync point at
    /// `stop`.
    fn decode_span(
        &mut self,
        window: &Window<'_>,
        start: Option<SyncPoint>,
        stop: u64,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        match self {
            Decoder::Libipt(engine) => engine.decode_span(window, start, stop, image, sink),
            Decoder::Native(engine) => Ok(engine.decode_span(window, start, stop, image, sink)),
        }
    }
}

impl Engine for Decoder {
    fn decode(
        &mut self,
        window: &Window<'_>,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error> {
        self.decode_span(window, None, u64::MAX, image, sink)
    }
}
