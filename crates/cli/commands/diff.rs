//! `tailtrace diff`: the intervals of two captures side by side, by the same options but for those of B.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use analysis::bundle::is_bundle;
use analysis::request::Source;
use analysis::{Request, study};
use anyhow::{Result, ensure};
use perfdata::PerfData;

use super::threads;
use crate::args::{AnalysisArgs, DiffArgs, DiffFormat, InputArgs};
use crate::input::Reading;
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &DiffArgs) -> Result<Outcome> {
    let (a, b) = analyses(args);
    let (a, b) = (a.request()?, b.request()?);
    ensure!(
        !is_read_twice(args),
        "--intervals -: stdin is read once, and there are two captures; write it to a file"
    );
    ensure!(
        args.same_intervals || !takes_one_file_for_two(&a, &b),
        "the intervals of both captures are those of one file: name B's with --intervals-b; where one file is right for both, \
         add --same-intervals"
    );
    threads::limit(args.effort.threads())?;
    let (a, b) = (Reading::open(a)?, Reading::open(b)?);
    let expectations = &args.expected.expect;
    let compared = study::difference_expecting(&a.request, &b.request, expectations, &meter::on_stderr());
    let (difference, expected) = compared.map_err(advice::on)?;
    if args.format != DiffFormat::Text || !output::is_terminal() {
        output::print_diagnostics(&difference.diagnostics);
    }
    output::print_result(&match args.format {
        DiffFormat::Text => report::render_difference_text(&difference, &output::style()),
        DiffFormat::Markdown => report::render_difference_markdown(&difference),
        DiffFormat::Json => report::render_difference_json(&difference),
        DiffFormat::Html => report::render_difference_html(&difference),
        DiffFormat::Junit => {
            let suite = format!("tailtrace diff {} {}", args.a.display(), args.b.display());
            report::render_junit(&suite, &expected)
        }
    })?;
    let is_text = matches!(args.format, DiffFormat::Text | DiffFormat::Markdown);
    if let Some(outcome) = output::print_expected(&expected, is_text)? {
        return Ok(outcome);
    }
    Ok(if difference.change.is_some() { Outcome::Reported } else { Outcome::NothingSelected })
}

/// Whether stdin is to be the interval file of both captures.
fn is_read_twice(args: &DiffArgs) -> bool {
    let is_stdin = |path: &Option<PathBuf>| path.as_deref().is_some_and(output::is_stdout);
    is_stdin(&args.source.intervals) && (args.intervals_b.is_none() || is_stdin(&args.intervals_b))
}

/// Whether both captures, which are not the same one, get their intervals from the same file.
fn takes_one_file_for_two(a: &Request, b: &Request) -> bool {
    let file = |request: &Request| match &request.source {
        Some(Source::File(path)) => Some(path.clone()),
        Some(_) => None,
        None => request.intervals_beside().filter(|_| !carries_intervals(&request.input.path)),
    };
    let (Some(of_a), Some(of_b)) = (file(a), file(b)) else { return false };
    is_one_file(&of_a, &of_b) && !is_one_file(&a.input.path, &b.input.path)
}

/// Whether what lies there needs no interval file: a bundle, or a slice. What cannot be opened is for who opens it to report.
fn carries_intervals(path: &Path) -> bool {
    is_bundle(path) || PerfData::open(path).is_ok_and(|perf| perf.slice_note().is_some())
}

/// Whether both paths lead to the same file or folder. What is not there is for who opens it to report.
fn is_one_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    a == b || identity(a).is_some_and(|file| identity(b) == Some(file))
}

/// The arguments as they count for A and for B.
fn analyses(args: &DiffArgs) -> (AnalysisArgs, AnalysisArgs) {
    let analysis = |input: &Path| AnalysisArgs {
        input: InputArgs {
            capture: Some(input.to_owned()),
            input: None,
            code: args.code.clone(),
            engine: args.engine,
        },
        source: args.source.clone(),
        selection: args.selection.clone(),
        effort: args.effort.clone(),
        same_path: false,
    };
    let (a, mut b) = (analysis(&args.a), analysis(&args.b));
    let stand_ins = [
        (&mut b.input.code.symfs, &args.symfs_b),
        (&mut b.input.code.vmlinux, &args.vmlinux_b),
        (&mut b.input.code.kallsyms, &args.kallsyms_b),
        (&mut b.source.intervals, &args.intervals_b),
    ];
    for (of_both, of_b) in stand_ins {
        if of_b.is_some() {
            of_both.clone_from(of_b);
        }
    }
    (a, b)
}
