//! How many instructions ran on each CPU in the requested times.
//!
//! Each range of time is a window of each stream, and windows are decoded in parallel, a few long ones in chunks: the work that explaining does for its
//! intervals, without attribution. `scripts/bench` measures it against perf's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use model::{Cpu, ThreadId, Tid, TscRange};
use pt::{Chunk, FlowItem, FlowSink, Grain, PtStream};
use rayon::prelude::*;

use crate::capture::{Capture, Decoders, Stretch, chunks, while_reading_ahead};

/// With so many windows for each thread, none is cut: the search for sync points would cost more than it evens out.
const WINDOWS_PER_THREAD: usize = 8;

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
    let threads = rayon::current_num_threads();
    // Where there are many windows, each thread has its own; a few long ones are cut.
    let is_cut = threads > 1 && windows.len() < threads * WINDOWS_PER_THREAD;
    let counts: Vec<(Owner, u64)> = while_reading_ahead(capture.perf(), &windows, |pace| {
        let count_chunk = |stream: &PtStream<'_>, range, chunk| {
            let mut sink = Counting { range, tids, instructions: 0 };
            decoders.with(|decoding| decoding.chunk(stream, range, chunk, &mut sink));
            sink.instructions
        };
        let windows = windows.par_iter().with_max_len(1);
        windows
            .map(|&[(stream, range)]| {
                let chunks =
                    if is_cut { chunks(capture, stream, range, threads) } else { vec![Chunk::WHOLE] };
                let chunks = chunks.into_par_iter().with_max_len(1);
                let instructions = chunks.map(|chunk| count_chunk(stream, range, chunk)).sum();
                pace.finished();
                ((stream.cpu(), stream.thread()), instructions)
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
