//! One worker's decoder: from "this CPU, this time" to the items of a flow.

use attribution::Decode;
use model::{Cpu, ThreadId, TscRange};
use pt::{Engine, FlowSink, Libipt, Window};

use crate::capture::Capture;

/// A decoder over a capture. One per thread: its caches are its own.
pub(crate) struct Decoding<'a> {
    capture: &'a Capture<'a>,
    engine: Libipt,
}

impl<'a> Decoding<'a> {
    /// A decoder for `capture`.
    pub(crate) fn new(capture: &'a Capture<'a>) -> Decoding<'a> {
        Decoding { capture, engine: Libipt::new(capture.pt_config(), pt::Limits::default()) }
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
        let Some(stream) = self.capture.stream(cpu, thread) else { return false };
        let occupants = self.capture.occupants_of(stream);
        let window = Window { stream, range, occupants: &occupants };
        match self.engine.decode(&window, self.capture.images(), sink) {
            Ok(_) => true,
            Err(error) => {
                self.capture.note_decode_error(cpu, &error);
                false
            }
        }
    }
}
