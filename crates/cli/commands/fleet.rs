//! `tailtrace fleet`: many captures as tables.
//!
//! Each capture is explained by a process of its own, which is this program again (`fleet rows --alone`): what is wrong with a file ends that process.

use std::path::Path;
use std::process::Command;

use analysis::NoMeter;
use anyhow::{Context as _, Result};
use fleet::{Compacted, Delivery, Ingested, Rows, Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::threads;
use crate::args::{Fleet, FleetArgs, HowArgs, IngestArgs, RowsArgs};
use crate::output::{self, Outcome};

/// Runs the command.
pub(super) fn run(args: &FleetArgs) -> Result<Outcome> {
    match &args.what {
        Fleet::Ingest(args) => ingest(args),
        Fleet::Rows(args) if args.alone => alone(args),
        Fleet::Rows(args) => rows(args),
        Fleet::Compact { folder } => compact(folder),
    }
}

fn ingest(args: &IngestArgs) -> Result<Outcome> {
    let mut deliveries = Vec::new();
    for path in &args.paths {
        deliveries.extend(fleet::found(path)?.into_iter().map(|path| args.how.delivery(path, None)));
    }
    let mut store = Store::open(&args.output)?;
    let jobs =
        args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let bar = bar(deliveries.len());
    let explain =
        |delivery: &Delivery, wanted: &dyn Fn(&str) -> bool| supervised(delivery, &args.how, wanted);
    let show = |so_far: &Ingested| {
        bar.set_position((so_far.added + so_far.skipped) as u64);
        bar.set_message(words(so_far));
    };
    let ingested = fleet::ingest(&mut store, &deliveries, jobs, explain, show);
    bar.finish_and_clear();
    output::print_note(&format!("{}: {}", args.output.display(), words(&ingested?)));
    Ok(Outcome::Reported)
}

/// `96 added, 3 of them without rows, 12 there already`.
fn words(ingested: &Ingested) -> String {
    let without = match ingested.without_rows {
        0 => String::new(),
        count => format!(", {count} of them unreadable or beyond limits"),
    };
    format!("{} added{without}, {} there already", ingested.added, ingested.skipped)
}

/// A line on the terminal at stderr, where that is one.
fn bar(captures: usize) -> ProgressBar {
    let target = if output::may_draw() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(captures as u64), target);
    match ProgressStyle::with_template("{pos} of {len} captures, {elapsed}, {eta} to go: {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn rows(args: &RowsArgs) -> Result<Outcome> {
    let delivery = args.how.delivery(args.path.clone(), args.uri.clone());
    if let Some(rows) = supervised(&delivery, &args.how, |_| true) {
        output::print_bytes(rows.to_json_lines().as_bytes())?;
    }
    Ok(Outcome::Reported)
}

/// The rows of a capture by a process of its own.
fn supervised(delivery: &Delivery, how: &HowArgs, wanted: impl FnOnce(&str) -> bool) -> Option<Rows> {
    match command(delivery, how) {
        Ok(command) => fleet::supervised(delivery, command, &how.limits(), wanted),
        Err(error) => Some(fleet::without_rows(delivery, "unreadable", &format!("{error:#}"))),
    }
}

/// This program, for one capture alone.
fn command(delivery: &Delivery, how: &HowArgs) -> Result<Command> {
    let own = std::env::current_exe().context("this program's file is not known")?;
    let mut command = Command::new(own);
    command.args(["fleet", "rows", "--alone", "--uri", &delivery.uri]);
    command.arg("--limit-memory").arg(how.limit_memory.to_string());
    for (name, value) in &delivery.tags {
        command.arg("--tag").arg(format!("{name}={value}"));
    }
    let input = &delivery.request.input;
    for (name, path) in input.code.given() {
        command.arg(name).arg(path);
    }
    if input.code.debuginfod {
        command.arg("--debuginfod");
    }
    if let Some(engine) = input.engine {
        command.args(["--engine", engine.name()]);
    }
    command.arg("--").arg(&input.path);
    Ok(command)
}

fn alone(args: &RowsArgs) -> Result<Outcome> {
    fleet::confine(args.how.limits().memory)?;
    threads::limit(Some(1))?;
    let delivery = args.how.delivery(args.path.clone(), args.uri.clone());
    let announce = |capture: &str| output::print_bytes(fleet::announced(capture).as_bytes()).is_ok();
    if let Some(rows) = fleet::explain(&delivery, &NoMeter, announce) {
        output::print_bytes(rows.to_json_lines().as_bytes())?;
    }
    Ok(Outcome::Reported)
}

fn compact(folder: &Path) -> Result<Outcome> {
    let Compacted { before, after, unknown } = fleet::compact(&Store::open(folder)?)?;
    if !unknown.is_empty() {
        output::print_note(&format!(
            "files with columns that this version does not know stay as they are: {}",
            unknown.join(", ")
        ));
    }
    output::print_note(&format!("{}: {before} parts, now {after}", folder.display()));
    Ok(Outcome::Reported)
}
