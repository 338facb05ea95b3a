//! Every executed instruction, in order of time.
//!
//! The streams are decoded in parallel, one thread each, and merged by time; batches wait in bounded channels, so memory does
//! not grow with the trace.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use model::{Cpu, Pid, Tsc};
use pt::{Engine, FlowItem, FlowSink, PtStream, Window};

use super::wanted::Wanted;
use crate::capture::Capture;
use crate::error::{Error, Result};

/// Instructions in a batch: large enough to make channels cheap.
const BATCH: usize = 1 << 14;

/// Batches that wait for the merge, per stream.
const WAITING: usize = 8;

/// Writes the addresses of the wanted instructions of `streams` to `out`, in hexadecimal, one a line.
///
/// # Errors
/// Where `out` takes no more, or the streams are more than there can be threads.
pub fn list(
    capture: &Capture<'_>,
    streams: &[&PtStream<'_>],
    wanted: &Wanted,
    out: &mut dyn Write,
) -> Result<()> {
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        for &stream in streams {
            let (sender, receiver) = sync_channel(WAITING);
            // A damaged file can name more CPUs than there can be threads.
            thread::Builder::new()
                .spawn_scoped(scope, move || decode_stream(capture, stream, wanted, sender))
                .map_err(Error::io(format!("cannot decode {} streams at once; try --cpu", streams.len())))?;
            receivers.push(receiver);
        }
        merge(receivers, out).map_err(Error::Output)
    })
}

/// Some instructions of one stream, in order of execution, by the time of the first.
struct Batch {
    start: Tsc,
    addresses: Vec<u64>,
}

fn decode_stream(capture: &Capture<'_>, stream: &PtStream<'_>, wanted: &Wanted, sender: SyncSender<Batch>) {
    let mut engine = capture.decoder();
    let window = Window { stream, range: wanted.range, occupants: capture.occupants_of(stream) };
    let mut sink = Batching {
        capture,
        wanted,
        cpu: stream.cpu(),
        sender,
        batch: Vec::new(),
        start: Tsc(0),
        stopped: false,
    };
    match engine.decode(&window, capture.images(), &mut sink) {
        Ok(stats) => capture.decode_findings().window(stream.cpu(), &stats),
        Err(error) => capture.decode_findings().failure(stream.cpu(), &error),
    }
    let _ = sink.flush();
}

/// Collects the addresses of wanted blocks into batches.
struct Batching<'a> {
    capture: &'a Capture<'a>,
    wanted: &'a Wanted,
    cpu: Option<Cpu>,
    sender: SyncSender<Batch>,
    batch: Vec<u64>,
    start: Tsc,
    stopped: bool,
}

impl Batching<'_> {
    fn flush(&mut self) -> ControlFlow<()> {
        if self.batch.is_empty() || self.stopped {
            return ControlFlow::Continue(());
        }
        let batch = Batch { start: self.start, addresses: std::mem::take(&mut self.batch) };
        // A receiver that is gone means that no one reads our output any more.
        self.stopped = self.sender.send(batch).is_err();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl FlowSink for Batching<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        let block = match item {
            FlowItem::Block(block) => block,
            FlowItem::Gap(gap) => {
                self.capture.decode_findings().gap(self.cpu, gap);
                return ControlFlow::Continue(());
            }
            FlowItem::Event(_) => return ControlFlow::Continue(()),
        };
        let tids = &self.wanted.tids;
        let right_thread = tids.is_empty() || block.thread.is_some_and(|thread| tids.contains(&thread.tid));
        let at = block.time.likely;
        if !right_thread || at < self.wanted.range.start || at > self.wanted.range.stop {
            return ControlFlow::Continue(());
        }
        if self.batch.is_empty() {
            self.start = at;
        }
        let pid = block.thread.map_or(Pid::KERNEL, |thread| thread.pid);
        let batch = &mut self.batch;
        pt::instructions(block, self.capture.images(), pid, |address| batch.push(address));
        if self.batch.len() >= BATCH { self.flush() } else { ControlFlow::Continue(()) }
    }
}

/// Writes batches of all streams in order of their starts.
fn merge(receivers: Vec<Receiver<Batch>>, out: &mut dyn Write) -> io::Result<()> {
    let mut heads: Vec<(Batch, Receiver<Batch>)> =
        receivers.into_iter().filter_map(|receiver| Some((receiver.recv().ok()?, receiver))).collect();
    while let Some(first) = (0..heads.len()).min_by_key(|&index| heads[index].0.start) {
        write_addresses(out, &heads[first].0.addresses)?;
        match heads[first].1.recv() {
            Ok(next) => heads[first].0 = next,
            Err(_) => drop(heads.swap_remove(first)),
        }
    }
    out.flush()
}

fn write_addresses(out: &mut dyn Write, addresses: &[u64]) -> io::Result<()> {
    for address in addresses {
        writeln!(out, "{address:x}")?;
    }
    Ok(())
}
