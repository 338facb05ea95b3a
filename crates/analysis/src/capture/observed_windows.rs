//! What the decoder met while it looked at an interval: were there packets, and of which code.
//!
//! [`Observing`] stands between attribution and the decoder and keeps a line for each window. The capture check speaks of
//! these, not of what the recording requested.

use std::ops::{ControlFlow, Range};

use attribution::{Decode, Stay};
use model::{Cpu, ThreadId, Tid, TscRange};
use pt::{FlowItem, FlowSink, Packet, PtStream};

/// What one window held of the thread that it was decoded for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenWindow {
    cpu: Option<Cpu>,
    tid: Tid,
    range: TscRange,
    /// Whether any packet lies in its time.
    pub(crate) any: bool,
    /// Whether user code ran.
    pub(crate) user: bool,
    /// Whether kernel code ran.
    pub(crate) kernel: bool,
    /// From the end of the last packet before its time to the last one in it: positions in the stream.
    positions: Option<Range<u64>>,
}

impl SeenWindow {
    /// Whether it is the window of `stay`.
    pub(crate) fn is_of(&self, stay: &Stay) -> bool {
        stay.range == self.range
            && stay.traced_by().is_some_and(|(cpu, thread)| cpu == self.cpu && thread.tid == self.tid)
    }

    /// Whether one of its packets counts core cycles; `stream` is the one that it was decoded from.
    pub(crate) fn has_cycles(&self, stream: &PtStream<'_>) -> bool {
        let (Some(positions), Some(span)) = (&self.positions, stream.span_of(self.range)) else {
            return false;
        };
        let mut packets = stream.packets_between(span.positions.start, positions.end);
        packets.any(|found| positions.contains(&found.position) && matches!(found.packet, Packet::Cyc(_)))
    }
}

/// A decoder that is looked at.
pub(crate) struct Observing<'d> {
    decoder: &'d mut dyn Decode,
    /// The windows so far.
    pub(crate) windows: Vec<SeenWindow>,
}

impl<'d> Observing<'d> {
    /// Looks at what `decoder` yields.
    pub(crate) fn new(decoder: &'d mut dyn Decode) -> Observing<'d> {
        Observing { decoder, windows: Vec::new() }
    }
}

impl Decode for Observing<'_> {
    fn decode(
        &mut self,
        cpu: Option<Cpu>,
        thread: ThreadId,
        range: TscRange,
        sink: &mut dyn FlowSink,
    ) -> bool {
        let (any, user, kernel) = (false, false, false);
        let window = SeenWindow { cpu, tid: thread.tid, range, any, user, kernel, positions: None };
        let mut observed = Observed { window, before: 0, sink };
        let found = self.decoder.decode(cpu, thread, range, &mut observed);
        self.windows.push(observed.window);
        found
    }
}

/// A sink that notes what passes.
struct Observed<'s> {
    window: SeenWindow,
    /// Position after the last item before the window.
    before: u64,
    sink: &'s mut dyn FlowSink,
}

impl Observed<'_> {
    fn note(&mut self, item: &FlowItem) {
        let (time, range) = (item.time(), self.window.range);
        if time.not_after < range.start {
            self.before = item.aux_offset();
            return;
        }
        let is_own = item.thread().is_none_or(|thread| thread.tid == self.window.tid);
        if !is_own || time.likely >= range.stop || matches!(item, FlowItem::Gap(_)) {
            return;
        }
        self.window.any = true;
        if let FlowItem::Block(block) = item {
            self.window.kernel |= block.kernel;
            self.window.user |= !block.kernel;
        }
        let from = self.window.positions.as_ref().map_or(self.before, |positions| positions.start);
        self.window.positions = Some(from..item.aux_offset().max(from));
    }
}

impl FlowSink for Observed<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        self.note(item);
        self.sink.item(item)
    }
}

#[cfg(test)]
mod tests;
