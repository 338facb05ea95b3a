//! The interface of a decoder, and the request for a window.

use model::{CodeBytes, ThreadId, Tsc, TscRange};

use crate::classes::ClassCache;
use crate::config::{Limits, PtConfig};
use crate::error::Error;
use crate::flow::Flow;
use crate::sink::FlowSink;
use crate::stream::PtStream;
use crate::sys::ImageStore;

/// Who is on the CPU from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// From this reading until the next occupant's.
    pub since: Tsc,
    /// Who.
    pub thread: ThreadId,
}

impl Occupant {
    /// Who of `occupants`, which are in order, is on the CPU at `time`.
    pub fn at(occupants: &[Occupant], time: Tsc) -> Option<ThreadId> {
        let next = occupants.partition_point(|occupant| occupant.since <= time);
        next.checked_sub(1).map(|index| occupants[index].thread)
    }
}

/// What to decode.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The trace.
    pub stream: &'a PtStream<'a>,
    /// The time wanted; 0 to [`u64::MAX`] for all of the stream.
    pub range: TscRange,
    /// Who was on the CPU, in order of time. For a thread's own stream one entry.
    pub occupants: &'a [Occupant],
}

/// What a decode did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeStats {
    /// Instructions decoded, those before the window's time included.
    pub instructions: u64,
    /// Items given to the sink.
    pub items: u64,
    /// Gaps met.
    pub gaps: u64,
    /// Bytes of PT walked.
    pub bytes: u64,
    /// TSC packets left out: later than the next sync points, so damaged. The time goes on by MTC and CYC.
    pub ignored_times: u64,
    /// AUX offset in front of the first of them, to within the packets between two decoded blocks.
    pub first_ignored_time: Option<u64>,
    /// Whether [`Limits::instructions`] ended it early.
    pub limited: bool,
}

/// A decoder.
pub trait Engine {
    /// Decodes `window` into `sink`, from the sync point before it until its end has certainly passed. Yields all that
    /// may lie in the window's range, and clips nothing: the caller does.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. Damage in the trace is no error but a gap in the flow.
    fn decode(
        &mut self,
        window: &Window<'_>,
        image: &dyn CodeBytes,
        sink: &mut dyn FlowSink,
    ) -> Result<DecodeStats, Error>;
}

/// The engine that uses libipt's block decoder. Holds the code images of one worker thread, by the ids of their
/// epochs: all its windows must come with the same [`CodeBytes`].
pub struct Libipt {
    pub(crate) config: PtConfig,
    pub(crate) limits: Limits,
    pub(crate) images: Option<ImageStore>,
    /// Trace copied because it straddles pieces or begins with a synthetic PSB+.
    pub(crate) scratch: Vec<u8>,
    pub(crate) classes: ClassCache,
}

impl Libipt {
    /// An engine for traces recorded with `config`.
    pub fn new(config: PtConfig, limits: Limits) -> Libipt {
        Libipt { config, limits, images: None, scratch: Vec::new(), classes: ClassCache::new() }
    }
}

/// Decodes one window into memory.
///
/// # Errors
/// As [`Engine::decode`].
pub fn decode_window(
    engine: &mut dyn Engine,
    window: &Window<'_>,
    image: &dyn CodeBytes,
) -> Result<Flow, Error> {
    let mut flow = Flow::default();
    engine.decode(window, image, &mut flow)?;
    Ok(flow)
}
