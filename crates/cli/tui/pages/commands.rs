//! Commands to paste: what shows the page in view elsewhere, with this tool or with stock perf.

use analysis::request::Effort;
use model::PerfTime;
use report::shell_quoted;

use super::overlay::Command;
use super::page::{BlockPage, OutlierPage, Page};
use super::view::View;
use crate::args::AnalysisArgs;

/// Those of the page in view, the most useful first.
pub(crate) fn of(view: &View) -> Vec<Command> {
    match view.page() {
        Page::Population(_) | Page::Intervals(_) => {
            vec![
                Command { what: "the population's statistics", line: tailtrace(&view.args, "stat", None) },
                Command { what: "the chosen intervals, explained", line: chosen(&view.args) },
            ]
        }
        Page::Outlier(page) => of_outlier(view, page),
        Page::Stretch(_) => of_interval(view),
        Page::Block(page) => of_block(view, page),
    }
}

fn of_outlier(view: &View, page: &OutlierPage) -> Vec<Command> {
    let Some(row) = view.row(page.index) else { return Vec::new() };
    let explain = |format: &str| format!("{}{format}", tailtrace(&view.args, "explain", Some(row.id)));
    let mut commands = vec![
        Command { what: "this interval, explained", line: explain("") },
        Command { what: "for a ticket", line: explain(" --format markdown") },
        Command {
            what: "one page for a ticket",
            line: explain(&format!(" --html interval-{}.html", row.id)),
        },
    ];
    if let Some(known) = view.explained(page.index).filter(|known| !known.outlier.perf_script.is_empty()) {
        let line = known.outlier.perf_script.clone();
        commands.insert(1, Command { what: "the same time with stock perf", line });
    }
    if let Some(known) = view.explained(page.index).filter(|known| !known.outlier.server_requests.is_empty())
    {
        let line = known.outlier.server_requests.clone();
        commands.insert(1, Command { what: "the server's requests", line });
    }
    commands
}

/// The block's own instructions, and its packets, as perf shows them.
fn of_block(view: &View, page: &BlockPage) -> Vec<Command> {
    let mut commands = Vec::new();
    if let Some(start) = block_time(view, page) {
        let cpus = page.used.cpu.iter().map(|cpu| cpu.0).collect();
        let input = view.args.input.path();
        let input = input.to_string_lossy();
        let stop = PerfTime(start.0.saturating_add(page.used.duration).saturating_add(1));
        let line =
            report::perf_script_line(&input, start, stop, &cpus).replace("--itrace=be", "--itrace=i0nse");
        let line = with_files(line, &view.args);
        commands.push(Command { what: "its instructions with stock perf", line });
    }
    commands.extend(of_interval(view));
    commands
}

/// Those of the interval below whose page one is.
fn of_interval(view: &View) -> Vec<Command> {
    let mut pages = view.pages.iter().rev();
    let of_page = |page: &Page| match page {
        Page::Outlier(page) => Some(of_outlier(view, page)),
        _ => None,
    };
    pages.find_map(of_page).unwrap_or_default()
}

/// When the block first ran, on perf's clock.
fn block_time(view: &View, page: &BlockPage) -> Option<PerfTime> {
    let known = view.explained(page.index)?;
    let start = known.outlier.start_ns?;
    Some(PerfTime(start.saturating_add(page.used.offset)))
}

/// `tailtrace COMMAND` with this capture, its files, and the source and filters of the command line; the selection too,
/// unless one interval is meant.
fn tailtrace(args: &AnalysisArgs, command: &str, id: Option<u64>) -> String {
    let input = shell_quoted(&args.input.path().to_string_lossy());
    let mut line = with_files(format!("tailtrace {command} -i {input}"), args);
    let source = &args.source;
    let file = source.intervals.as_ref().map(|path| path.to_string_lossy().into_owned());
    let mut add = |option: &str, value: Option<String>| {
        if let Some(value) = value {
            add_option(&mut line, option, &value);
        }
    };
    add("--intervals", file);
    add("--begin", source.begin.clone());
    add("--end", source.end.clone());
    add("--key", source.key.clone());
    add("--ptwrite", source.ptwrite.clone());
    add("--function", source.function.clone());
    add("--requests", (!source.requests.is_empty()).then(|| source.requests.join(",")));
    let list = |items: &[i32]| {
        (!items.is_empty()).then(|| items.iter().map(i32::to_string).collect::<Vec<_>>().join(","))
    };
    let selection = &args.selection;
    add("--time", selection.time.clone());
    add("--cpu", selection.cpu.clone());
    add("--pid", list(&selection.pid));
    add("--tid", list(&selection.tid));
    add("--comm", (!selection.comm.is_empty()).then(|| selection.comm.join(",")));
    add("--label", (!selection.label.is_empty()).then(|| selection.label.join(",")));
    add("--id", id.map(|id| id.to_string()));
    add(
        "--baselines",
        (args.effort.baselines != Effort::USUAL_BASELINES && command == "explain")
            .then(|| args.effort.baselines.to_string()),
    );
    line
}

/// `tailtrace explain` of what this run's options choose.
fn chosen(args: &AnalysisArgs) -> String {
    let selection = &args.selection;
    let ids: Vec<String> = selection.id.iter().map(u64::to_string).collect();
    let options = [
        ("--top", selection.top.map(|top| top.to_string())),
        ("--over", selection.over.clone()),
        ("--percentile", selection.percentile.map(|percentile| percentile.to_string())),
        ("--mad", selection.mad.map(|mad| mad.to_string())),
        ("--id", (!ids.is_empty()).then(|| ids.join(","))),
    ];
    let mut line = tailtrace(args, "explain", None);
    for (option, value) in options {
        if let Some(value) = value {
            add_option(&mut line, option, &value);
        }
    }
    if selection.slow_mode {
        line.push_str(" --slow-mode");
    }
    line
}

fn add_option(line: &mut String, option: &str, value: &str) {
    line.extend([" ", option, " ", &shell_quoted(value)]);
}

/// Adds where code and symbols are; perf spells the options as we do.
fn with_files(mut line: String, args: &AnalysisArgs) -> String {
    for (option, path) in args.input.code.request().given() {
        add_option(&mut line, option, &path.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests;
