//! Workers' decoders: from "this CPU, this time" to the items of a flow.

use std::sync::{Mutex, PoisonError};

use attribution::Decode;
use model::{Cpu, ThreadId, TscRange};
use pt::{Chunk, Decoder, FlowSink, Limits, PtStream, Window};

use super::opened::Capture;

/// The decoders of a capture: as many as ever worked at once. A decoder knows the code that it met, so handing it on
/// from window to window saves more than the window costs.
pub struct Decoders<'a> {
    capture: &'a Capture<'a>,
    idle: Mutex<Vec<Decoding<'a>>>,
}

impl<'a> Decoders<'a> {
    /// None yet; they are made when needed.
    pub fn new(capture: &'a Capture<'a>) -> Decoders<'a> {
        Decoders { capture, idle: Mutex::new(Vec::new()) }
    }

    /// Does `work` with a decoder that no other thread uses during it.
    pub fn with<T>(&self, work: impl FnOnce(&mut Decoding<'a>) -> T) -> T {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoding = idle.unwrap_or_else(|| Decoding::new(self.capture));
        let result = work(&mut decoding);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(decoding);
        result
    }
}

/// Cuts what `stream` holds of `range` into chunks, some for each of so many threads.
pub fn chunks(capture: &Capture<'_>, stream: &PtStream<'_>, range: TscRange, threads: usize) -> Vec<Chunk> {
    let window = Window { stream, range, occupants: capture.occupants_of(stream) };
    pt::chunks(&window, Limits::default().chunk_bytes, threads)
}

/// A decoder over a capture, for one thread at a time: its caches are its own.
pub struct Decoding<'a> {
    capture: &'a Capture<'a>,
    engine: Decoder,
}

impl<'a> Decoding<'a> {
    fn new(capture: &'a Capture<'a>) -> Decoding<'a> {
        Decoding { capture, engine: capture.decoder() }
    }

    /// Decodes what `stream` holds of `range`; `false`, and a diagnostic, where that fails.
    pub fn stream(&mut self, stream: &PtStream<'_>, range: TscRange, sink: &mut dyn FlowSink) -> bool {
        self.chunk(stream, range, Chunk::WHOLE, sink)
    }

    /// The same of one of the chunks into which [`chunks`] cuts it.
    pub fn chunk(
        &mut self,
        stream: &PtStream<'_>,
        range: TscRange,
        chunk: Chunk,
        sink: &mut dyn FlowSink,
    ) -> bool {
        self.capture.windows().note(stream, range);
        let window = Window { stream, range, occupants: self.capture.occupants_of(stream) };
        match self.engine.decode_chunk(&window, chunk, self.capture.images(), sink) {
            Ok(stats) => {
                self.capture.decode_findings().window(stream.cpu(), &stats);
                true
            }
            Err(error) => {
                self.capture.decode_findings().failure(stream.cpu(), &error);
                false
            }
        }
    }
}

impl Decode for Decoding<'_> {
    fn decode(
        &mut self,
        cpu: Option<Cpu>,
        thread: ThreadId,
        range: TscRange,
        sink: &mut dyn FlowSink,
    ) -> bool {
        let capture = self.capture;
        capture.stream(cpu, thread).is_some_and(|stream| self.stream(stream, range, sink))
    }
}
