//! `tailtrace record`: composes the `perf record` command line that tailtrace wants, runs it, and writes the machine file.
//!
//! perf does the recording; its options, messages and exit code pass through. What it does not write down (names and nodes of
//! devices) goes into the machine file beside the capture (`docs/machine-file.md`).

use anyhow::{Result, ensure};

use crate::args::RecordArgs;
use crate::machine::pt;
use crate::output::{self, Outcome};
use crate::record::offered::Offered;
use crate::record::{command, machine_file, older, perf};

/// Where the options of `perf record` begin.
const RECORD_OPTIONS: usize = 2;

/// Runs the command.
pub(super) fn run(args: &RecordArgs) -> Result<Outcome> {
    if args.machine_only {
        machine_file::write(args)?;
        return Ok(Outcome::Reported);
    }
    let composed = command::compose(&args.output, args.preset, &Offered::below(&args.root), &args.perf)?;
    if !composed.left_out.is_empty() {
        let left_out = composed.left_out.join(", ");
        output::print_note(&format!(
            "left out, for this machine does not offer it: {left_out} (tailtrace doctor has more)"
        ));
    }
    let mut command = composed.words;
    if output::is_quiet() {
        // perf knows the same option.
        command.insert(RECORD_OPTIONS, "-q".into());
    }
    let shown = command::shown(&command);
    if args.dry_run {
        output::print_result(&shown)?;
        return Ok(Outcome::Reported);
    }
    ensure!(
        args.root.join(pt::DEVICE).exists(),
        "this machine has no Intel PT (there is no /{}): its CPU lacks it, or its hypervisor does not pass it on (tailtrace \
         doctor has more); record where it is, and explain the perf.data here",
        pt::DEVICE
    );
    output::print_note(&shown);
    let older = older::Capture::at(&args.output);
    let oldest = older::Oldest::clear(&args.output)?;
    let code = perf::run(&command);
    let replaced = older::Capture::at(&args.output) != older;
    if replaced {
        older.keep_machine(&args.output);
    }
    oldest.put_back()?;
    let code = code?;
    // A perf that failed early leaves an older capture, whose machine file stays.
    if replaced && args.output.exists() {
        match machine_file::write(args) {
            Err(error) if code != 0 => output::print_error(&error),
            written => written?,
        }
    } else {
        ensure!(code != 0, "perf ended without writing {}", args.output.display());
    }
    Ok(Outcome::Passed(code))
}
