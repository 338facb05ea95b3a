//! Either engine, by its name.

use model::CodeBytes;

use crate::config::{Limits, PtConfig};
use crate::engine::{DecodeStats, Engine, Libipt, Window};
use crate::error::Error;
use crate::flow::FlowSink;
use crate::native::{Native, has_wrong_branch_before_abort};
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
    /// The one that decodes traces recorded with `config` where none is named: the project's own, but for CPUs with an erratum that only
    /// libipt heeds (BDM64, Broadwell).
    pub fn usual(config: &PtConfig) -> EngineKind {
        if has_wrong_branch_before_abort(config) { EngineKind::Libipt } else { EngineKind::Native }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CpuModel;

    /// Broadwell's models (Intel's manual, volume 4, table 2-1), one of Skylake, and of AMD's family 15H.
    #[test]
    fn only_broadwell_is_decoded_with_libipt() {
        let usual = |family, model| {
            let cpu = Some(CpuModel { family, model, stepping: 1 });
            EngineKind::usual(&PtConfig { cpu, ..PtConfig::default() })
        };
        assert_eq!([0x3d, 0x47, 0x4f, 0x56].map(|model| usual(6, model)), [EngineKind::Libipt; 4]);
        assert_eq!([usual(6, 0x4e), usual(6, 0x8f), usual(0x15, 0x4f)], [EngineKind::Native; 3]);
        assert_eq!(EngineKind::usual(&PtConfig::default()), EngineKind::Native);
    }
}
