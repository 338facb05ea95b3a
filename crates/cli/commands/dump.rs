//! `tailtrace dump`: what the capture holds, for people who debug traces.

use std::io::{self, BufWriter};

use analysis::instructions::{self, Owner, Wanted};
use analysis::{Capture, Request};
use anyhow::{Result, bail};
use model::{Tid, TscRange};
use perfdata::PerfData;
use pt::PtStream;

use super::threads;
use crate::advice;
use crate::args::{DumpArgs, text};
use crate::input::Reading;
use crate::output::{self, Outcome};

/// Runs the command.
pub(super) fn run(args: &DumpArgs) -> Result<Outcome> {
    let reading = Reading::open(Request { input: args.input.request(), ..Request::default() })?;
    let input = &reading.request.input;
    let perf = PerfData::open(&input.path).map_err(|error| advice::on(error.into()))?;
    if args.what.records {
        output::print_diagnostics(perf.diagnostics());
        let lines: Vec<String> =
            perf.record_counts().iter().map(|(name, count)| format!("{name}\t{count}")).collect();
        output::print_result(&lines.join("\n"))?;
        return Ok(Outcome::Reported);
    }
    threads::limit(args.jobs)?;
    let capture = Capture::new(&perf, input);
    output::print_diagnostics(&capture.diagnostics());
    let done = if args.what.count { count(args, &capture) } else { list(args, &capture) };
    output::print_diagnostics(&capture.late_diagnostics());
    done
}

/// Prints one line per CPU (or thread, in a capture of single threads): its number, a tab, instructions.
fn count(args: &DumpArgs, capture: &Capture<'_>) -> Result<Outcome> {
    let ranges = ranges(args, capture)?;
    let found = instructions::count(capture, &text::cpus(args.cpu.as_deref())?, &tids(args), &ranges);
    let line = |((cpu, thread), count): (Owner, u64)| match (cpu, thread) {
        (Some(cpu), _) => format!("{cpu}\t{count}\n"),
        (None, Some(tid)) => format!("tid {tid}\t{count}\n"),
        (None, None) => format!("?\t{count}\n"),
    };
    output::print_result(&found.into_iter().map(line).collect::<String>())?;
    Ok(Outcome::Reported)
}

/// Prints the address of each instruction.
fn list(args: &DumpArgs, capture: &Capture<'_>) -> Result<Outcome> {
    let ranges = ranges(args, capture)?;
    let [range] = ranges[..] else { bail!("--time: dump takes one range of times") };
    let wanted = Wanted { cpus: text::cpus(args.cpu.as_deref())?, tids: tids(args), range };
    let streams: Vec<&PtStream<'_>> = capture.streams().filter(|stream| wanted.includes(stream)).collect();
    if streams.is_empty() {
        output::print_diagnostics(&[instructions::nothing_to_decode(capture)]);
        return Ok(Outcome::NothingSelected);
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    instructions::list(capture, &streams, &wanted, &mut out).map_err(advice::on)?;
    Ok(Outcome::Reported)
}

/// The requested times; all time where there are none.
fn ranges(args: &DumpArgs, capture: &Capture<'_>) -> Result<Vec<TscRange>> {
    let times = text::times(args.time.as_deref())?;
    instructions::ranges(&times, capture.conversion()).map_err(advice::on)
}

fn tids(args: &DumpArgs) -> Vec<Tid> {
    args.tid.iter().map(|&tid| Tid(tid)).collect()
}
