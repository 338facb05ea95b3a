//! The man pages: what clap knows of a command, then examples as they are typed, and what holds for all commands.

use std::path::Path;

use analysis::output::write_file;
use anyhow::Result;
use clap::CommandFactory as _;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::Cli;

/// `sysexits` has no part in it: scripts distinguish these.
const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "Every selected interval was reported."),
    ("1", "No interval was selected."),
    ("2", "The input could not be used, or a selected interval has no report; or the arguments are wrong."),
    (
        "3",
        "Of stat and diff: an expectation (--expect) does not hold. Of doctor: something stops a recording.",
    ),
    ("other", "Of record: perf's own."),
];

const FILES: [(&str, &str); 6] = [
    ("perf.data", "The capture that is read where none is named, as by perf."),
    ("intervals.csv", "Beside the capture: its intervals, where no option says where they come from."),
    (
        "perf.data.machine.json",
        "Names and NUMA nodes of the recorded machine's devices, written by tailtrace record.",
    ),
    (
        "perf.data.clocks",
        "Clock pairs of the recording, written by tailtrace record: they join spans and logs with the trace.",
    ),
    (
        "perf.data.ptwrite",
        "What the PTWRITEs of the recorded program mean, written by tailtrace record: its intervals, where no option says where they come from and there is no intervals.csv.",
    ),
    (
        "$XDG_CACHE_HOME/tailtrace, ~/.cache/tailtrace",
        "Found calls of functions, for the next time with the same --function. It may be removed at any time.",
    ),
];

const ENVIRONMENT: [(&str, &str); 7] = [
    ("TAILTRACE_INPUT", "The capture or bundle that is read where no argument names one."),
    (
        "DEBUGINFOD_URLS",
        "Servers that are queried for missing binaries and debug files of a capture; see --debuginfod.",
    ),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "Whether text has colours, where --color leaves it to them."),
    ("COLUMNS", "The width of text."),
    ("LC_ALL, LC_CTYPE, LANG", "Whether text may hold characters beyond ASCII."),
    ("TMPDIR", "Where archives of bundles are unpacked while they are read."),
    ("TERM", "Where it is dumb, no colours and no progress are drawn."),
];

/// Writes a page for each command into `folder`.
///
/// # Errors
/// What the operating system says, with the path.
pub(crate) fn write_pages(folder: &Path) -> Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_below(command, folder)
}

/// Writes the page of a command, and those of the commands below it.
fn write_below(command: clap::Command, folder: &Path) -> Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_below(below.clone(), folder)?;
    }
    let examples = command.get_after_help().map(ToString::to_string);
    let has_commands = command.has_subcommands();
    let page = Man::new(command.after_help(None::<&str>));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    let mut more = Roff::new();
    for (heading, rows) in
        [("EXIT STATUS", &EXIT_STATUS[..]), ("ENVIRONMENT", &ENVIRONMENT), ("FILES", &FILES)]
    {
        more.control("SH", [heading]);
        for &(name, meaning) in rows {
            more.control("TP", []).text([roman(name)]).text([roman(meaning)]);
        }
    }
    if let Some(examples) = examples {
        add_examples(&mut more, &examples);
    }
    more.to_writer(&mut text)?;
    Ok(write_file(&folder.join(page.get_filename()), &text)?)
}

/// Lines that a reader can copy: they are not filled.
fn add_examples(page: &mut Roff, examples: &str) {
    page.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in examples.lines().skip_while(|line| *line == "Examples:") {
        page.text([roman(line)]);
    }
    page.control("fi", []);
}
