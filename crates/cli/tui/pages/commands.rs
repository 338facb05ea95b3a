//! Commands to paste: what shows the page in view elsewhere, with this tool or with stock perf.

use analysis::request::Effort;
use model::PerfTime;
use report::shell_quoted;

use super::overlay::{Command, Writing};
use super::page::{BlockPage, OutlierPage, Page};
use super::view::View;
use crate::args::AnalysisArgs;

/// Those of the page in view, the most useful first.
pub(crate) fn of(view: &View) -> Vec<Command> {
    match view.page() {
        Page::MadeOf(_) => vec![Command {
            what: "what the time of all intervals is made of",
            line: format!("{} --causes", tailtrace(&view.args, "stat", Choice::Everything).line()),
        }],
        Page::Population(_) | Page::Intervals(_) => {
            vec![
                Command {
                    what: "the population's statistics",
                    line: tailtrace(&view.args, "stat", Choice::Everything).line(),
                },
                Command {
                    what: "the chosen intervals, explained",
                    line: tailtrace(&view.args, "explain", Choice::AsGiven).line(),
                },
            ]
        }
        Page::Outlier(page) => of_outlier(view, page),
        Page::Stretch(_) => of_interval(view),
        Page::Block(page) => of_block(view, page),
    }
}

fn of_outlier(view: &View, page: &OutlierPage) -> Vec<Command> {
    let Some(row) = view.row(page.index) else { return Vec::new() };
    let explain = || tailtrace(&view.args, "explain", Choice::Interval(row.id));
    let mut commands = vec![
        Command { what: "this interval, explained", line: explain().line() },
        Command { what: "for a ticket", line: explain().with("--format", "markdown").line() },
        Command {
            what: "one page for a ticket",
            line: explain().with("--html", &format!("interval-{}.html", row.id)).line(),
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

/// Files of what is in view, to be written into the current folder: a page to read, a bundle for a ticket, a slice for perf.
pub(crate) fn files(view: &View) -> Vec<Writing> {
    let index = view.pages.iter().rev().find_map(|page| match page {
        Page::Outlier(page) => Some(page.index),
        _ => None,
    });
    let (choice, name) = match index.map(|index| view.row(index)) {
        None => (Choice::AsGiven, "outliers".to_owned()),
        Some(Some(row)) => (Choice::Interval(row.id), format!("interval-{}", row.id)),
        Some(None) => return Vec::new(),
    };
    let kinds = [
        ("one page (HTML) that needs nothing else", "explain", "--html", ".html"),
        ("a bundle: the slice, its intervals and its programs", "bundle", "-o", ".tar.zst"),
        ("a slice: a perf.data of this time", "slice", "-o", ".perf.data"),
    ];
    let writing = |(what, command, option, extension)| {
        let mut words = tailtrace(&view.args, command, choice);
        words.0.push(Word::Name(option));
        Writing { what, arguments: words.arguments(), name: name.clone(), extension }
    };
    kinds.into_iter().map(writing).collect()
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
        let mut files = Words::default();
        files.add_files(&view.args);
        let line = format!("{line} {}", files.line()).trim_end().to_owned();
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

/// `tailtrace COMMAND` with this capture, its files, and the source and filters of the command line; what this run's options
/// choose, or the one interval that is meant.
fn tailtrace(args: &AnalysisArgs, command: &'static str, choice: Choice) -> Words {
    let mut words = Words(vec![Word::Name("tailtrace"), Word::Name(command)]);
    words.add("-i", Some(args.input.path().to_string_lossy().into_owned()));
    words.add_files(args);
    let source = &args.source;
    let file = source.intervals.as_ref().map(|path| path.to_string_lossy().into_owned());
    words.add("--intervals", file);
    words.add("--begin", source.begin.clone());
    words.add("--end", source.end.clone());
    words.add("--key", source.key.clone());
    words.add("--ptwrite", source.ptwrite.clone());
    if source.pt_regions {
        words.0.push(Word::Name("--pt-regions"));
    }
    words.add("--region-names", source.region_names.as_ref().map(|path| path.to_string_lossy().into_owned()));
    words.add("--function", source.function.clone());
    words.add("--requests", listed(&source.requests));
    let selection = &args.selection;
    words.add("--time", selection.time.clone());
    words.add("--cpu", selection.cpu.clone());
    words.add("--pid", listed(&selection.pid));
    words.add("--tid", listed(&selection.tid));
    words.add("--comm", listed(&selection.comm));
    words.add("--label", listed(&selection.label));
    let is_usual = args.effort.baselines == Effort::USUAL_BASELINES || command == "stat";
    let baselines = (!is_usual).then(|| args.effort.baselines.to_string());
    let same_path = (args.same_path && command != "stat").then_some(Word::Name("--same-path"));
    match choice {
        Choice::Everything => {}
        Choice::Interval(id) => {
            words.add("--id", Some(id.to_string()));
            words.add("--baselines", baselines);
            words.0.extend(same_path);
        }
        Choice::AsGiven => {
            words.add("--baselines", baselines);
            words.0.extend(same_path);
            words.add("--top", selection.top.map(|top| top.to_string()));
            words.add("--over", selection.over.clone());
            words.add("--percentile", selection.percentile.map(|percentile| percentile.to_string()));
            words.add("--mad", selection.mad.map(|mad| mad.to_string()));
            words.add("--id", listed(&selection.id));
            words.0.extend(selection.slow_mode.then_some(Word::Name("--slow-mode")));
        }
    }
    words
}

/// What a command is about.
#[derive(Clone, Copy)]
enum Choice {
    /// All intervals.
    Everything,
    /// Those that this run's options choose.
    AsGiven,
    /// The one with this id.
    Interval(u64),
}

/// `1,2,3`; `None` where there is nothing.
fn listed<T: ToString>(items: &[T]) -> Option<String> {
    (!items.is_empty()).then(|| items.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}

/// A word of a command.
#[derive(Clone, Debug)]
enum Word {
    /// The name of a command or of an option.
    Name(&'static str),
    /// What stands for it, or after it.
    Value(String),
}

/// A command, word by word.
#[derive(Clone, Debug, Default)]
struct Words(Vec<Word>);

impl Words {
    fn add(&mut self, option: &'static str, value: Option<String>) {
        self.0.extend(value.into_iter().flat_map(|value| [Word::Name(option), Word::Value(value)]));
    }

    /// Where code and symbols are; perf spells the options as we do.
    fn add_files(&mut self, args: &AnalysisArgs) {
        for (option, path) in args.input.code.request().given() {
            self.add(option, Some(path.to_string_lossy().into_owned()));
        }
    }

    /// With one more option.
    fn with(mut self, option: &'static str, value: &str) -> Words {
        self.add(option, Some(value.to_owned()));
        self
    }

    /// For a shell.
    fn line(&self) -> String {
        let quoted = self.0.iter().map(|word| match word {
            Word::Name(name) => (*name).to_owned(),
            Word::Value(value) => shell_quoted(value),
        });
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// For the program itself.
    fn arguments(self) -> Vec<String> {
        let plain = self.0.into_iter().skip(1).map(|word| match word {
            Word::Name(name) => name.to_owned(),
            Word::Value(value) => value,
        });
        plain.collect()
    }
}

#[cfg(test)]
mod tests;
