//! `tailtrace diff`: the intervals of two captures side by side, by the same options but for those of B.

use analysis::study;
use anyhow::Result;

use super::threads;
use crate::args::{AnalysisArgs, DiffArgs, DiffFormat, InputArgs};
use crate::output::{self, Outcome};
use crate::{advice, meter};

/// Runs the command.
pub(super) fn run(args: &DiffArgs) -> Result<Outcome> {
    let (a, b) = analyses(args);
    let (a, b) = (a.request()?, b.request()?);
    threads::limit(args.effort.threads())?;
    let difference = study::difference(&a, &b, &meter::on_stderr()).map_err(advice::on)?;
    if args.format != DiffFormat::Text || !output::is_terminal() {
        output::print_diagnostics(&difference.diagnostics);
    }
    output::print_result(&match args.format {
        DiffFormat::Text => report::render_difference_text(&difference, &output::style()),
        DiffFormat::Markdown => report::render_difference_markdown(&difference),
        DiffFormat::Json => report::render_difference_json(&difference),
        DiffFormat::Html => report::render_difference_html(&difference),
    })?;
    Ok(if difference.change.is_some() { Outcome::Reported } else { Outcome::NothingSelected })
}

/// The arguments as they count for A and for B.
fn analyses(args: &DiffArgs) -> (AnalysisArgs, AnalysisArgs) {
    let analysis = |input: &std::path::Path| AnalysisArgs {
        input: InputArgs { input: input.to_owned(), code: args.code.clone() },
        source: args.source.clone(),
        selection: args.selection.clone(),
        effort: args.effort.clone(),
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
