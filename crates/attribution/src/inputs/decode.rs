//! The interface to a decoder: the flow of a thread in a window of time.

use model::{Cpu, ThreadId, TscRange};
use pt::FlowSink;

/// Decodes the trace of a CPU, or of a thread where the capture is per thread.
pub trait Decode {
    /// Sends what `thread` (and others) did on `cpu` during `range` into `sink`; `false` where there is no trace.
    /// Without a CPU only the thread's own trace is used.
    fn decode(
        &mut self,
        cpu: Option<Cpu>,
        thread: ThreadId,
        range: TscRange,
        sink: &mut dyn FlowSink,
    ) -> bool;
}
