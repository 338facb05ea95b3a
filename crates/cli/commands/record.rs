//! `tailtrace record`: composes the `perf record` command line that tailtrace wants, runs it, and writes its companions.
//!
//! perf does the recording; its options, messages and exit code pass through. What it does not write down (names and nodes of
//! devices, clocks) goes into files beside the capture: `docs/machine-file.md`, and `docs/recording.md`, "Clocks".

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use intervals::EventPair;

use crate::args::{PauseArgs, RecordArgs, SnapshotArgs, text};
use crate::machine::build::Build;
use crate::machine::tree::Tree;
use crate::machine::{pausing, pt};
use crate::output::{self, Outcome};
use crate::record::clocks::Readings;
use crate::record::code_copies::CodeCopies;
use crate::record::command::{Asked, Whose};
use crate::record::descriptors::Descriptors;
use crate::record::offered::Offered;
use crate::record::pausing::Pausing;
use crate::record::snapshots::{Bundles, Limits, OnBundle, Plan};
use crate::record::{command, machine_file, older, perf, ptwrite, snapshots};

/// Where the options of `perf record` begin.
const RECORD_OPTIONS: usize = 2;

/// Runs the command.
pub(super) fn run(args: &RecordArgs) -> Result<Outcome> {
    if args.machine_only {
        machine_file::write(args, Vec::new())?;
        return Ok(Outcome::Reported);
    }
    ensure!(
        args.bundles.bundle_to.is_some() || args.bundles.tags.by_name().is_empty(),
        "--tag is for bundles: it needs --bundle-to DIR"
    );
    let mut plan = if args.snapshots.over.is_empty() { None } else { Some(plan(args)?) };
    let missing = what_cannot_pause(args);
    let events: Vec<&str> = plan.iter().flat_map(Plan::events).collect();
    let asked = Asked {
        preset: args.preset,
        no_pt: args.no_pt,
        keeps: plan.is_some(),
        events: &events,
        whose: whose(args),
        pausing: Pausing {
            pause: &args.pauses.pause,
            resume: &args.pauses.resume,
            missing: missing.as_deref(),
        },
    };
    let offered = Offered::below(&args.root);
    let ring = plan.as_ref().map(|plan| snapshots::output(&plan.folder));
    let composed = command::compose(ring.as_ref().unwrap_or(&args.output), asked, &offered, &args.perf)?;
    // Without a trace it would serve for nothing.
    let copies_code = composed.has_trace && !args.no_code_copies;
    if let Some(plan) = &mut plan {
        plan.copies_code = copies_code;
    }
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
    if let Some(plan) = &plan {
        let code = snapshots::run(&command, plan, &args.perf)?;
        return Ok(Outcome::Passed(code));
    }
    let older = older::Capture::at(&args.output);
    let oldest = older::Oldest::clear(&args.output)?;
    let readings = Readings::begin();
    let mut descriptors = Descriptors::begin(&args.root, &args.perf);
    let copies = if copies_code { CodeCopies::begin(&args.root, &args.perf) } else { CodeCopies::none() };
    let code = perf::run(&command, &[], &[], |running| {
        thread::scope(|scope| {
            scope.spawn(|| descriptors.look_while(running));
            scope.spawn(|| copies.look_while(running));
            readings.take_while(running);
        });
    });
    let replaced = older::Capture::at(&args.output) != older;
    if replaced {
        older.keep_companions(&args.output);
    }
    oldest.put_back()?;
    let code = code?;
    // A perf that failed early leaves an older capture, whose companions stay.
    if replaced && args.output.exists() {
        let companions = machine_file::write(args, descriptors.into_entries())
            .and_then(|()| readings.write(&args.output))
            .and_then(|()| ptwrite::write(&args.output, &args.perf))
            .and_then(|()| copies.write(&args.output));
        match companions {
            Err(error) if code != 0 => output::print_error(&error),
            written => written?,
        }
    } else {
        ensure!(code != 0, "perf ended without writing {}", args.output.display());
    }
    Ok(Outcome::Passed(code))
}

/// Why the trace cannot be paused here, where that is requested.
fn what_cannot_pause(args: &RecordArgs) -> Option<String> {
    let PauseArgs { pause, resume } = &args.pauses;
    if pause.is_empty() && resume.is_empty() {
        return None;
    }
    pausing::missing(&Tree::new(&args.root).ok()?, Build::on_path().as_ref())
}

/// What `--bundle-to` and the options beside it say.
fn bundles(args: &RecordArgs) -> Result<Option<Bundles>> {
    let asked = &args.bundles;
    let Some(to) = asked.bundle_to.clone() else { return Ok(None) };
    let limit = text::duration_ns(&asked.on_bundle_limit).context("--on-bundle-limit")?;
    let limit = Duration::from_nanos(limit);
    let on_bundle = asked.on_bundle.clone().map(|command| OnBundle { command, limit });
    Ok(Some(Bundles {
        to,
        tags: asked.tags.by_name(),
        redacted: !asked.no_redact,
        on_bundle,
        most_bytes: asked.bundle_disk.map(|mib| mib.saturating_mul(1 << 20)),
    }))
}

/// What `--snapshot-over` and the options beside it say.
fn plan(args: &RecordArgs) -> Result<Plan> {
    let asked = &args.snapshots;
    let is_named = args.output != Path::new("perf.data");
    Ok(Plan {
        folder: if is_named { args.output.clone() } else { PathBuf::from("slow") },
        limits: Limits::read(&asked.over).context("--snapshot-over")?,
        pair: pair(asked)?,
        tids: args.tid.clone(),
        a_minute: asked.a_minute,
        keep: asked.keep,
        bundles: bundles(args)?,
        ring_on: asked.ring_on.clone(),
        root: args.root.clone(),
        duration: match &asked.duration {
            Some(duration) => Some(Duration::from_nanos(text::duration_ns(duration).context("--duration")?)),
            None => None,
        },
        copies_code: false,
        most_bytes: asked.max_size.map(|mib| mib.saturating_mul(1 << 20)),
    })
}

/// The events of `--begin` and `--end`, where they are given.
fn pair(asked: &SnapshotArgs) -> Result<Option<EventPair>> {
    let (Some(begin), Some(end)) = (&asked.begin, &asked.end) else { return Ok(None) };
    ensure!(
        Limits::read(&asked.over)?.is_one(),
        "with --begin, --snapshot-over takes one TIME or percentile, without a label: all pairs of events have the same"
    );
    Ok(Some(EventPair {
        begin: begin.parse()?,
        end: end.parse()?,
        key: asked.key.clone(),
        phases: Vec::new(),
    }))
}

/// Whose records are to be there.
fn whose(args: &RecordArgs) -> Whose<'_> {
    match &args.cgroup {
        Some(name) => Whose::Cgroup(name),
        None if args.tid.is_empty() => Whose::All,
        None => Whose::Threads(&args.tid),
    }
}
