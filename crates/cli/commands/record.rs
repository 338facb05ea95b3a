//! `tailtrace record`: composes the `perf record` command line that tailtrace wants, runs it, and writes its companions.
//!
//! perf does the recording; its options, messages and exit code pass through. What it does not write down (names and nodes of
//! devices, clocks) goes into files beside the capture: `docs/machine-file.md`, and `docs/recording.md`, "Clocks".

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::args::{RecordArgs, text};
use crate::machine::pt;
use crate::output::{self, Outcome};
use crate::record::clocks::Readings;
use crate::record::command::Asked;
use crate::record::offered::Offered;
use crate::record::snapshots::{Limits, Plan};
use crate::record::{command, machine_file, older, perf, snapshots};

/// Where the options of `perf record` begin.
const RECORD_OPTIONS: usize = 2;

/// Runs the command.
pub(super) fn run(args: &RecordArgs) -> Result<Outcome> {
    if args.machine_only {
        machine_file::write(args)?;
        return Ok(Outcome::Reported);
    }
    let offered = Offered::below(&args.root);
    let asked = Asked { preset: args.preset, no_pt: args.no_pt, keeps: !args.snapshots.over.is_empty() };
    let plan = if args.snapshots.over.is_empty() { None } else { Some(plan(args)?) };
    let ring = plan.as_ref().map(|plan| snapshots::output(&plan.folder));
    let composed = command::compose(ring.as_ref().unwrap_or(&args.output), asked, &offered, &args.perf)?;
    if !composed.has_trace {
        let why = if args.no_pt {
            "without Intel PT"
        } else {
            "this machine has no Intel PT (tailtrace doctor has more)"
        };
        output::print_note(&format!(
            "{why}: recorded are switches, wake-ups, interrupts, system calls, page faults and samples; waits are explained as \
             with a trace, time on a CPU has no flow"
        ));
    }
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
        !composed.has_trace || offered.has_pt(),
        "perf's options name intel_pt/, and this machine has none (there is no /{}; tailtrace doctor has more)",
        pt::DEVICE
    );
    output::print_note(&shown);
    if let Some(plan) = plan {
        let code = snapshots::run(&command, &plan, &machine_file::text(&args.root)?)?;
        return Ok(Outcome::Passed(code));
    }
    let older = older::Capture::at(&args.output);
    let oldest = older::Oldest::clear(&args.output)?;
    let mut readings = Readings::begin();
    let code = perf::run(&command, &[], &[], |running| readings.take_while(running));
    let replaced = older::Capture::at(&args.output) != older;
    if replaced {
        older.keep_companions(&args.output);
    }
    oldest.put_back()?;
    let code = code?;
    // A perf that failed early leaves an older capture, whose companions stay.
    if replaced && args.output.exists() {
        match machine_file::write(args).and_then(|()| readings.write(&args.output)) {
            Err(error) if code != 0 => output::print_error(&error),
            written => written?,
        }
    } else {
        ensure!(code != 0, "perf ended without writing {}", args.output.display());
    }
    Ok(Outcome::Passed(code))
}

/// What `--snapshot-over` and the options beside it say.
fn plan(args: &RecordArgs) -> Result<Plan> {
    let asked = &args.snapshots;
    let is_named = args.output != Path::new("perf.data");
    Ok(Plan {
        folder: if is_named { args.output.clone() } else { PathBuf::from("slow") },
        limits: Limits::read(&asked.over).context("--snapshot-over")?,
        a_minute: asked.a_minute,
        keep: asked.keep,
        ring_on: asked.ring_on.clone(),
        root: args.root.clone(),
        duration: match &asked.duration {
            Some(duration) => Some(Duration::from_nanos(text::duration_ns(duration).context("--duration")?)),
            None => None,
        },
        most_bytes: asked.max_size.map(|mib| mib.saturating_mul(1 << 20)),
    })
}
