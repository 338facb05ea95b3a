//! `tailtrace dump --count`: how many instructions ran on each CPU in the times asked for.
//!
//! Each range of time is a window of each stream, and windows are decoded in parallel: the work that `explain` does
//! for its intervals, without attribution. `scripts/bench` measures it against perf's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use anyhow::Result;
use model::{Cpu, Tid, Tsc, TscRange};
use pt::{FlowItem, FlowSink, PtStream};
use rayon::prelude::*;

use crate::args::DumpArgs;
use crate::capture::Capture;
use crate::decoding::Decoders;
use crate::output;
use crate::read_ahead::{self, Stretch};
use crate::source;

/// Prints one line per CPU (or thread, in a capture of single threads): its number, a tab, instructions.
pub(crate) fn run(args: &DumpArgs, capture: &Capture<'_>) -> Result<()> {
    let ranges = ranges(args, capture)?;
    let cpus = source::cpus(args.cpu.as_deref())?;
    let tids: Vec<Tid> = args.tid.iter().map(|&tid| Tid(tid)).collect();
    let streams: Vec<&PtStream<'_>> = capture
        .streams()
        .filter(|stream| cpus.is_empty() || stream.cpu().is_some_and(|cpu| cpus.contains(&cpu)))
        .collect();
    let windows: Vec<[Stretch<'_>; 1]> =
        streams.iter().flat_map(|&stream| ranges.iter().map(move |&range| [(stream, range)])).collect();
    let decoders = Decoders::new(capture);
    let counts: Vec<(Place, u64)> = read_ahead::during(capture.perf(), &windows, |progress| {
        let windows = windows.par_iter().with_max_len(1);
        windows
            .map(|&[(stream, range)]| {
                let mut sink = Counting { range, tids: &tids, instructions: 0 };
                decoders.with(|decoding| decoding.stream(stream, range, &mut sink));
                progress.finished();
                ((stream.cpu(), stream.thread()), sink.instructions)
            })
            .collect()
    });
    let mut by_place: BTreeMap<Place, u64> = BTreeMap::new();
    for (place, instructions) in counts {
        *by_place.entry(place).or_default() += instructions;
    }
    let lines: String = by_place.into_iter().map(line).collect();
    Ok(output::print_result(&lines)?)
}

/// Whose trace: a CPU's or a thread's.
type Place = (Option<Cpu>, Option<Tid>);

fn line(((cpu, thread), instructions): (Place, u64)) -> String {
    match (cpu, thread) {
        (Some(cpu), _) => format!("{cpu}\t{instructions}\n"),
        (None, Some(tid)) => format!("tid {tid}\t{instructions}\n"),
        (None, None) => format!("?\t{instructions}\n"),
    }
}

/// The times asked for; all time where none is.
fn ranges(args: &DumpArgs, capture: &Capture<'_>) -> Result<Vec<TscRange>> {
    let spans = source::times(args.time.as_deref(), capture.conversion())?;
    let range = |span: intervals::TimeSpan| {
        TscRange::new(span.from.unwrap_or(Tsc(0)), span.to.unwrap_or(Tsc(u64::MAX)))
    };
    Ok(if spans.is_empty() {
        vec![TscRange::new(Tsc(0), Tsc(u64::MAX))]
    } else {
        spans.into_iter().map(range).collect()
    })
}

/// Counts the instructions of blocks that begin within a range, of some threads or of all.
struct Counting<'a> {
    range: TscRange,
    tids: &'a [Tid],
    instructions: u64,
}

impl FlowSink for Counting<'_> {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        if let FlowItem::Block(block) = item {
            let at = block.time.likely;
            let in_time = at >= self.range.start && at <= self.range.stop;
            let of_thread = block.thread.is_some_and(|thread| self.tids.contains(&thread.tid));
            if in_time && (self.tids.is_empty() || of_thread) {
                self.instructions += u64::from(block.instructions);
            }
        }
        ControlFlow::Continue(())
    }
}
