//! `tailtrace dump`: what the capture holds, for people who debug traces.
//!
//! `--insns` decodes the streams in parallel, one thread each, and merges them by time; batches wait in bounded
//! channels, so memory does not grow with the trace.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result, bail};
use model::{Cpu, Diagnostic, Pid, Tid, Tsc, TscRange};
use pt::{Engine, FlowItem, FlowSink, Libipt, PtStream, Window};

use crate::args::DumpArgs;
use crate::capture::{self, Capture};
use crate::count;
use crate::output::{self, Outcome};
use crate::source;

/// Instructions in a batch: large enough to make channels cheap.
const BATCH: usize = 1 << 14;

/// Batches that wait for the merge, per stream.
const WAITING: usize = 8;

/// How many CPUs a message names.
const CPUS_NAMED: usize = 32;

/// Runs the command.
pub(crate) fn run(args: &DumpArgs) -> Result<Outcome> {
    let perf = capture::open(&args.input)?;
    if args.what.records {
        output::print_diagnostics(perf.diagnostics());
        let lines: Vec<String> =
            perf.record_counts().iter().map(|(name, count)| format!("{name}\t{count}")).collect();
        output::print_result(&lines.join("\n"))?;
        return Ok(Outcome::Reported);
    }
    if let Some(jobs) = args.jobs {
        rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global()?;
    }
    let capture = Capture::new(&perf, &args.input);
    output::print_diagnostics(&capture.diagnostics());
    if args.what.count {
        let result = count::run(args, &capture);
        output::print_diagnostics(&capture.late_diagnostics());
        result?;
        return Ok(Outcome::Reported);
    }
    let wanted = Wanted::of(args, &capture)?;
    let streams: Vec<&PtStream<'_>> = capture.streams().filter(|stream| wanted.includes(stream)).collect();
    if streams.is_empty() {
        output::print_diagnostics(&[no_trace(&capture)]);
        return Ok(Outcome::NothingSelected);
    }
    let result = print_instructions(&capture, &streams, &wanted);
    output::print_diagnostics(&capture.late_diagnostics());
    result?;
    Ok(Outcome::Reported)
}

/// Which instructions are asked for.
struct Wanted {
    cpus: Vec<Cpu>,
    tids: Vec<Tid>,
    range: TscRange,
}

impl Wanted {
    fn of(args: &DumpArgs, capture: &Capture<'_>) -> Result<Wanted> {
        let spans = source::times(args.time.as_deref(), capture.conversion())?;
        if spans.len() > 1 {
            bail!("--time: dump takes one range of times");
        }
        let span = spans.first().copied().unwrap_or_default();
        Ok(Wanted {
            cpus: source::cpus(args.cpu.as_deref())?,
            tids: args.tid.iter().map(|&tid| Tid(tid)).collect(),
            range: TscRange::new(span.from.unwrap_or(Tsc(0)), span.to.unwrap_or(Tsc(u64::MAX))),
        })
    }

    fn includes(&self, stream: &PtStream<'_>) -> bool {
        let cpu = self.cpus.is_empty() || stream.cpu().is_some_and(|cpu| self.cpus.contains(&cpu));
        let thread = stream.thread().is_none_or(|tid| self.tids.is_empty() || self.tids.contains(&tid));
        cpu && thread
    }
}

/// Why there is nothing to decode.
fn no_trace(capture: &Capture<'_>) -> Diagnostic {
    let cpus: Vec<String> =
        capture.streams().filter_map(PtStream::cpu).map(|cpu| cpu.to_string()).take(CPUS_NAMED).collect();
    Diagnostic::warning(if capture.streams().next().is_none() {
        "the capture holds no Intel PT: there is nothing to decode".to_owned()
    } else if cpus.is_empty() {
        "no trace of these threads, and the trace of threads has no CPUs: leave out --cpu".to_owned()
    } else {
        format!("no trace of these CPUs: the capture has CPU {}", cpus.join(", "))
    })
}

fn print_instructions(capture: &Capture<'_>, streams: &[&PtStream<'_>], wanted: &Wanted) -> Result<()> {
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        for &stream in streams {
            let (sender, receiver) = sync_channel(WAITING);
            // A damaged file can name more CPUs than there can be threads.
            thread::Builder::new()
                .spawn_scoped(scope, move || decode_stream(capture, stream, wanted, sender))
                .with_context(|| format!("cannot decode {} streams at once; try --cpu", streams.len()))?;
            receivers.push(receiver);
        }
        merge(receivers)
    })
}

/// Some instructions of one stream, in order of execution, by the time of the first.
struct Batch {
    start: Tsc,
    addresses: Vec<u64>,
}

fn decode_stream(capture: &Capture<'_>, stream: &PtStream<'_>, wanted: &Wanted, sender: SyncSender<Batch>) {
    let mut engine = Libipt::new(capture.pt_config(), pt::Limits::default());
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
        // A receiver that is gone means that nobody reads our output any more.
        self.stopped = self.sender.send(batch).is_err();
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl FlowSink for Batching<'_> {
    fn item(&mut self, item: FlowItem) -> ControlFlow<()> {
        let block = match item {
            FlowItem::Block(block) => block,
            FlowItem::Gap(gap) => {
                self.capture.decode_findings().gap(self.cpu, &gap);
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
        pt::instructions(&block, self.capture.images(), pid, |address| batch.push(address));
        if self.batch.len() >= BATCH { self.flush() } else { ControlFlow::Continue(()) }
    }
}

/// Prints batches of all streams in order of their starts.
fn merge(receivers: Vec<Receiver<Batch>>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut heads: Vec<(Batch, Receiver<Batch>)> =
        receivers.into_iter().filter_map(|receiver| Some((receiver.recv().ok()?, receiver))).collect();
    while let Some(first) = (0..heads.len()).min_by_key(|&index| heads[index].0.start) {
        write_addresses(&mut out, &heads[first].0.addresses)?;
        match heads[first].1.recv() {
            Ok(next) => heads[first].0 = next,
            Err(_) => drop(heads.swap_remove(first)),
        }
    }
    out.flush()?;
    Ok(())
}

fn write_addresses(out: &mut impl Write, addresses: &[u64]) -> io::Result<()> {
    for address in addresses {
        writeln!(out, "{address:x}")?;
    }
    Ok(())
}
