//! What the decoder met while it looked at an interval: were there packets, and of which code.
//!
//! [`Observing`] stands between attribution and the decoder and keeps a line for each window. The capture check speaks of
//! these, not of what the recording was asked for.

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
    /// Whether packets told anything of its time.
    pub(crate) any: bool,
    /// Whether user code ran.
    pub(crate) user: bool,
    /// Whether kernel code ran.
    pub(crate) kernel: bool,
    /// From behind the last packet before its time to the last one in it: positions in the stream.
    positions: Option<Range<u64>>,
}

impl SeenWindow {
    /// Whether it is the window of `stay`.
    pub(crate) fn is_of(&self, stay: &Stay) -> bool {
        stay.range == self.range
            && stay.traced_by().is_some_and(|(cpu, thread)| cpu == self.cpu && thread.tid == self.tid)
    }

    /// Whether one of its packets tells core cycles; `stream` is the one that it was decoded from.
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
    /// Position behind the last item before the window.
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
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        self.note(&item);
        self.sink.item(item)
    }
}

#[cfg(test)]
mod tests {
    use model::{Pid, Tsc};
    use pt::{Block, BlockEnd, TimeBounds};

    use super::*;

    /// Yields these blocks: (from, to, kernel, tid, position).
    struct Script(Vec<(u64, u64, bool, i32, u64)>);

    impl Decode for Script {
        fn decode(&mut self, _: Option<Cpu>, _: ThreadId, _: TscRange, sink: &mut dyn FlowSink) -> bool {
            for &(from, to, kernel, tid, aux_offset) in &self.0 {
                let block = Block {
                    ip: 0,
                    end_ip: 0,
                    instructions: 1,
                    end: BlockEnd::Other,
                    bits: 64,
                    kernel,
                    thread: Some(ThreadId { pid: Pid(7), tid: Tid(tid) }),
                    time: TimeBounds::between(Tsc(from), Tsc(to)),
                    aux_offset,
                };
                assert_eq!(sink.item(FlowItem::Block(block)), ControlFlow::Continue(()));
            }
            true
        }
    }

    struct Dropped;

    impl FlowSink for Dropped {
        fn item(&mut self, _: FlowItem) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }

    /// What is seen of thread 8 from 100 to 200.
    fn seen(blocks: &[(u64, u64, bool, i32, u64)]) -> SeenWindow {
        let mut script = Script(blocks.to_vec());
        let mut observing = Observing::new(&mut script);
        let (thread, range) = (ThreadId { pid: Pid(7), tid: Tid(8) }, TscRange::new(Tsc(100), Tsc(200)));
        assert!(observing.decode(Some(Cpu(1)), thread, range, &mut Dropped));
        observing.windows.pop().expect("a window")
    }

    #[test]
    fn only_the_threads_own_time_counts() {
        let before_and_behind = seen(&[(10, 90, false, 8, 16), (200, 210, true, 8, 48)]);
        assert!(!before_and_behind.any && !before_and_behind.user && !before_and_behind.kernel);
        assert!(!seen(&[(120, 130, true, 9, 16)]).any, "another thread's");
        let own = seen(&[(10, 90, true, 8, 16), (100, 110, false, 8, 32), (110, 120, false, 8, 48)]);
        assert_eq!((own.any, own.user, own.kernel), (true, true, false));
        assert_eq!(own.positions, Some(16..48));
    }
}
