//! How many instructions ran on each CPU in the requested times.
//!
//! Each range of time is a window of each stream, and windows are decoded in parallel: the work that explaining does for its
//! intervals, without attribution. `scripts/bench` measures it against perf's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use model::{Cpu, ThreadId, Tid, TscRange};
use pt::{FlowItem, FlowSink, Grain, PtStream};
use rayon::prelude::*;

use crate::capture::{Capture, Decoders, Stretch, while_reading_ahead};

/// Whose trace: a CPU's or a thread's.
pub type Owner = (Option<Cpu>, Option<Tid>);

/// The instructions of each CPU (or thread, in a capture of single threads) among `cpus` within `ranges`, those of `tids` alone
/// where it names any. An empty list of CPUs means all.
pub fn count(capture: &Capture<'_>, cpus: &[Cpu], tids: &[Tid], ranges: &[TscRange]) -> BTreeMap<Owner, u64> {
    let streams: Vec<&PtStream<'_>> = capture
        .streams()
        .filter(|stream| cpus.is_empty() || stream.cpu().is_some_and(|cpu| cpus.contains(&cpu)))
        .collect();
    let windows: Vec<[Stretch<'_>; 1]> =
        streams.iter().flat_map(|&stream| ranges.iter().map(move |&range| [(stream, range)])).collect();
    let decoders = Decoders::new(capture);
    let counts: Vec<(Owner, u64)> = while_reading_ahead(capture.perf(), &windows, |pace| {
        let windows = windows.par_iter().with_max_len(1);
        windows
            .map(|&[(stream, range)]| {
                let mut sink = Counting { range, tids, instructions: 0 };
                decoders.with(|decoding| decoding.stream(stream, range, &mut sink));
                pace.finished();
                ((stream.cpu(), stream.thread()), sink.instructions)
            })
            .collect()
    });
    let mut by_owner: BTreeMap<Owner, u64> = BTreeMap::new();
    for (owner, instructions) in counts {
        *by_owner.entry(owner).or_default() += instructions;
    }
    by_owner
}

/// Counts the instructions of blocks that begin within a range, of some threads or of all.
struct Counting<'a> {
    range: TscRange,
    tids: &'a [Tid],
    instructions: u64,
}

impl Counting<'_> {
    fn wants(&self, thread: Option<ThreadId>) -> bool {
        self.tids.is_empty() || thread.is_some_and(|thread| self.tids.contains(&thread.tid))
    }
}

impl FlowSink for Counting<'_> {
    fn grain(&self) -> Grain {
        Grain::Sums
    }

    fn sum(&mut self, thread: Option<ThreadId>, instructions: u64) {
        if self.wants(thread) {
            self.instructions += instructions;
        }
    }

    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        if let FlowItem::Block(block) = item {
            let at = block.time.likely;
            let in_time = at >= self.range.start && at <= self.range.stop;
            if in_time && self.wants(block.thread) {
                self.instructions += u64::from(block.instructions);
            }
        }
        ControlFlow::Continue(())
    }
}
