//! The command line of `perf record`, as the README recommends it.
//!
//! Input: where to write, and what the user wants of perf. Output: the words of the command. What the user names goes last, so
//! that it counts where perf takes an option once; a trace of some processes or CPUs is not one of the whole machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, ensure};

use super::offered::Offered;
use super::pausing::Pausing;
use super::preset::{DISKS, TOP_DOWN, option_after, tracepoints};
use crate::args::Preset;
use crate::machine::pt::{Feature, Pt};

/// MiB of the buffer for records, and of that for the trace, for each CPU.
pub(crate) const BUFFERS_MIB: (u64, u64) = (8, 64);
/// The same where they are kept until something is slow. A second of 10,000 requests a second with their system calls and switches;
/// 30 to 150 ms of a busy CPU's trace. The larger they are, the longer does perf write.
const KEPT_MIB: (u64, u64) = (8, 16);
/// perf overwrites its rings, and writes them at SIGUSR2. Not with `--buildid-mmap`: the kernel (`perf_event_mmap_output`) then marks the
/// MMAP2 records of other recordings as if they had build IDs, too, and their perf aborts ("buffer overflow detected").
const KEEP: [&str; 2] = ["--overwrite", "--switch-output=signal"];
/// The same with a trace: at SIGUSR2 the AUX areas are copied, then the file is closed; once more at the end (`e`). Only the areas are
/// overwritten, for perf (6.1) copies none of a ring that is written backwards: records are written as they come.
const KEEP_TRACE: [&str; 2] = ["-Se", "--switch-output=signal"];
/// perf's options that say what is recorded, instead of the whole machine.
const TARGETS: [&str; 9] = ["-p", "--pid", "-t", "--tid", "-C", "--cpu", "--per-thread", "-u", "--uid"];
/// Those of them that say on which CPUs: all that runs there is recorded.
const CPUS: [&str; 2] = ["-C", "--cpu"];

/// perf's long options, each as short as perf takes it, by which it writes files of other names than it is given.
const OTHER_NAMES: [&str; 2] = ["--switch-o", "--timestamp-f"];
/// perf's short options that take a value, which may follow in the same word.
const VALUED: &str = "cCDeFGIjkmprStuz";

/// The event of the trace: packets for each cycle count, and the returns that call trees need, as far as the machine's Intel PT
/// has them. perf refuses the others.
pub(crate) fn trace_event(pt: Option<&Pt>) -> String {
    let has = |feature: Feature| pt.is_none_or(|pt| pt.has(feature));
    let mut terms = Vec::new();
    if has(Feature::Cycles) {
        terms.push("cyc=1");
        // Bit 1 stands for the value 1: a packet for each cycle count but the smallest. 0 is valid everywhere.
        let has_one = pt.is_none_or(|pt| pt.cycle_thresholds >> 1 & 1 == 1);
        terms.push(if has_one { "cyc_thresh=1" } else { "cyc_thresh=0" });
    }
    if has(Feature::Mtc) {
        terms.push("mtc_period=0");
    }
    if has(Feature::EachReturn) {
        terms.push("noretcomp=1");
    }
    // It costs nothing until a program executes one. Of a machine that does not describe itself it is not expected.
    if pt.is_some_and(|pt| pt.has(Feature::Ptwrite)) {
        terms.extend(["ptw=1", "fup_on_ptw=1"]);
    }
    format!("intel_pt/{}/", terms.join(","))
}

/// Samples a second of each CPU where there is no trace; perf's own default.
const SAMPLES_A_SECOND: u32 = 4000;

/// Whose system calls, exceptions and samples are recorded. What makes a thread wait is others' work: switches, wake-ups and interrupts are
/// those of the whole machine in any case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Whose<'a> {
    /// All.
    #[default]
    All,
    /// Those of a cgroup's threads.
    Cgroup(&'a str),
    /// System calls and exceptions of these threads, by their numbers.
    Threads(&'a [u32]),
}

/// What of the recording is the user's choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    /// The records beside the trace; `None`: light with a trace, standard and those of disks without.
    pub(crate) preset: Option<Preset>,
    /// No trace, even where the machine offers one.
    pub(crate) no_pt: bool,
    /// Rings are overwritten, and written out when something was slow.
    pub(crate) keeps: bool,
    /// Events that are recorded in any case.
    pub(crate) events: &'a [&'a str],
    /// Whose records.
    pub(crate) whose: Whose<'a>,
    /// Events that pause and resume the trace.
    pub(crate) pausing: Pausing<'a>,
}

impl Asked<'_> {
    fn buffers_mib(self) -> (u64, u64) {
        if self.keeps { KEPT_MIB } else { BUFFERS_MIB }
    }
}

/// perf's command, and what it would have on another machine.
pub(crate) struct Composed {
    /// The program, and its arguments.
    pub(crate) words: Vec<OsString>,
    /// Options and events that this machine does not offer.
    pub(crate) left_out: Vec<String>,
    /// Whether it records a trace.
    pub(crate) has_trace: bool,
}

/// The command that records into `output` what is requested and the machine offers; `given` are perf's own options, `--`, and
/// the program.
///
/// # Errors
/// Where `given` names another output, or has perf choose names: the machine file would lie beside the wrong one. Where it names
/// Intel PT, and there is to be none.
pub(crate) fn compose(
    output: &Path,
    asked: Asked<'_>,
    offered: &Offered,
    given: &[OsString],
) -> Result<Composed> {
    let (options, program) = split(given);
    refuse_other_outputs(output, options)?;
    let names_trace = options.iter().any(|option| option.to_string_lossy().contains("intel_pt/"));
    ensure!(!(names_trace && asked.no_pt), "--no-pt, and intel_pt/ among perf's options: leave one out");
    let has_trace = names_trace || offered.has_pt() && !asked.no_pt;
    let mut left_out = Vec::new();
    let pausing = asked.pausing.offered(has_trace, names_trace, &mut left_out)?;
    let asked = Asked { pausing, ..asked };
    let mut words: Vec<OsString> = ["perf", "record"].map(OsString::from).to_vec();
    if asked.keeps {
        words.extend(if has_trace { KEEP_TRACE } else { KEEP }.map(OsString::from));
    }
    let has_target = options.iter().any(|option| is_any(option, &TARGETS));
    ensure!(
        !has_target || matches!(asked.whose, Whose::All),
        "--cgroup and --tid record the whole machine, and perf's -p, -t, -C and -u do not: leave one out"
    );
    if !has_target {
        words.push("-a".into());
    }
    let traced = has_trace.then(|| trace(names_trace, asked, offered, &mut left_out));
    let (preset, more) = match asked.preset {
        Some(preset) => (preset, &[][..]),
        None if has_trace && matches!(asked.whose, Whose::All) => (Preset::Light, &[][..]),
        None if has_trace => (Preset::Standard, &[][..]),
        None => (Preset::Standard, DISKS),
    };
    let mut chosen = events(preset, more, offered, &mut left_out);
    chosen.retain(|event| !pausing.records(event));
    let sampled = if has_trace { Vec::new() } else { samples(asked, offered, options) };
    let in_order = of_whom(asked.whose, sampled, &chosen, traced.unwrap_or_default())?;
    words.extend(in_order.into_iter().map(OsString::from));
    for event in asked.events {
        if !words.iter().chain(options).any(|word| names_event(&word.to_string_lossy(), event)) {
            words.extend(["-e", event].map(OsString::from));
            words.extend(option_after(event).map(OsString::from));
        }
    }
    words.extend(["--switch-events", "-o"].map(OsString::from));
    words.push(output.as_os_str().to_owned());
    words.extend(options.iter().cloned());
    if !program.is_empty() {
        words.push("--".into());
        words.extend(program.iter().cloned());
    }
    Ok(Composed { words, left_out, has_trace })
}

/// Whether perf takes the word for one of these options.
fn is_any(option: &OsStr, names: &[&str]) -> bool {
    let text = option.to_string_lossy();
    let with_its_value = |name: &str| name.len() == 2 && !text.starts_with("--") && text.starts_with(name);
    names.iter().any(|name| text.split('=').next() == Some(*name) || with_its_value(name))
}

/// The options of samples, events and trace, in this order; or with what is of a cgroup alone first, for perf's `-G` restricts all events before it.
///
/// # Errors
/// Where nothing would be restricted.
fn of_whom(
    whose: Whose<'_>,
    sampled: Vec<String>,
    chosen: &[&str],
    traced: Vec<String>,
) -> Result<Vec<String>> {
    let is_programs = |event: &&&str| event.starts_with("raw_syscalls:") || event.starts_with("exceptions:");
    let (own, others): (Vec<&str>, Vec<&str>) = chosen.iter().partition(is_programs);
    ensure!(
        matches!(whose, Whose::All) || !own.is_empty() || !sampled.is_empty(),
        "light records nothing of single programs: --preset standard has their system calls"
    );
    Ok(match whose {
        Whose::All => [sampled, traced, options_of(chosen, None)].concat(),
        Whose::Cgroup(name) => {
            let restriction = vec!["-G".to_owned(), name.to_owned()];
            [sampled, options_of(&own, None), restriction, traced, options_of(&others, None)].concat()
        }
        Whose::Threads(tids) => {
            let conditions: Vec<String> = tids.iter().map(|tid| format!("common_pid == {tid}")).collect();
            let filter = conditions.join(" || ");
            [sampled, traced, options_of(&own, Some(&filter)), options_of(&others, None)].concat()
        }
    })
}

/// perf's options for these events, each with the filter, if there is one.
fn options_of(events: &[&str], filter: Option<&str>) -> Vec<String> {
    let mut words = Vec::new();
    for event in events {
        words.extend(["-e".to_owned(), (*event).to_owned()]);
        words.extend(filter.iter().flat_map(|filter| ["--filter".to_owned(), (*filter).to_owned()]));
        words.extend(option_after(event).map(str::to_owned));
    }
    words
}

/// Whether perf's list of events has this one, or all of its group: what is recorded twice pairs twice.
fn names_event(list: &str, event: &str) -> bool {
    let of_group = event.split(':').next().unwrap_or_default();
    let mut names = list.split(',').map(|name| name.split('/').next().unwrap_or_default());
    names.any(|name| name == event || name.strip_suffix(":*") == Some(of_group))
}

/// Code, buffers and event of a trace.
fn trace(is_named: bool, asked: Asked<'_>, offered: &Offered, left_out: &mut Vec<String>) -> Vec<String> {
    let mut words = Vec::new();
    if offered.has_kcore() {
        words.push("--kcore".to_owned());
    } else {
        left_out.push("--kcore".to_owned());
    }
    let (records, trace) = asked.buffers_mib();
    words.extend(["-m".to_owned(), format!("{records}M,{trace}M")]);
    if !is_named {
        words.extend(["-e".to_owned(), asked.pausing.trace_event(&trace_event(offered.pt.as_ref()))]);
    }
    words.extend(asked.pausing.words());
    words
}

/// What stands for a trace where there is none: samples. A clock that a program can read, too, where the kernel does not publish
/// how perf's own follows from the TSC (`CLOCK_MONOTONIC_RAW`: no other one keeps its rate).
fn samples(asked: Asked<'_>, offered: &Offered, options: &[OsString]) -> Vec<String> {
    let mut words = vec!["-m".to_owned(), format!("{}M", asked.buffers_mib().0)];
    let has_clock = options
        .iter()
        .any(|option| is_any(option, &["--clockid"]) || option.to_string_lossy().starts_with("-k"));
    if !has_clock && !offered.has_conversion() {
        words.extend(["-k".to_owned(), "CLOCK_MONOTONIC_RAW".to_owned()]);
    }
    // Of a process's threads perf records no CPU by itself, and switches without one belong nowhere.
    if options.iter().any(|option| is_any(option, &TARGETS)) {
        words.push("--sample-cpu".to_owned());
    }
    words.extend(["-e".to_owned(), format!("{}/freq={SAMPLES_A_SECOND}/", offered.sampling())]);
    words
}

/// The preset's records and counters, and `more`; those that the machine lacks go to `left_out`.
fn events(
    preset: Preset,
    more: &[&'static str],
    offered: &Offered,
    left_out: &mut Vec<String>,
) -> Vec<&'static str> {
    let mut words = Vec::new();
    for event in tracepoints(preset).into_iter().chain(more.iter().copied()) {
        if offered.has(event) {
            words.push(event);
        } else {
            left_out.push(event.to_owned());
        }
    }
    match preset {
        Preset::Full if offered.has_top_down() => words.push(TOP_DOWN),
        Preset::Full => left_out.push("top-down counters".to_owned()),
        Preset::Light | Preset::Standard => {}
    }
    words
}

/// Refuses what would have perf write elsewhere than to `output`.
fn refuse_other_outputs(output: &Path, options: &[OsString]) -> Result<()> {
    for option in options {
        let text = option.to_string_lossy();
        ensure!(
            !names_output(&text),
            "name {text} before perf's options: tailtrace writes the machine file beside the capture"
        );
        ensure!(
            !OTHER_NAMES.iter().any(|name| text.starts_with(name)),
            "with {text} perf chooses the files' names, and the machine file would lie beside none of them: run perf \
             itself, and tailtrace record --machine-only -o FILE for each file"
        );
    }
    ensure!(output != Path::new("-"), "a capture with a machine file beside it is no pipe: name it with -o");
    Ok(())
}

/// Whether perf takes the word for `-o`, alone or after other letters, or for `--output`, which it takes in short, too.
fn names_output(word: &str) -> bool {
    if word.starts_with("--") {
        return word.starts_with("--ou");
    }
    let letters = word.strip_prefix('-').unwrap_or_default().chars();
    letters.take_while(|&letter| !VALUED.contains(letter)).any(|letter| letter == 'o')
}

/// perf's options and the program. The parser of arguments takes a `--` that comes first: then, and without any, all is the
/// program, whose own `--` is no border.
pub(super) fn split(given: &[OsString]) -> (&[OsString], &[OsString]) {
    if !given.first().is_some_and(|word| word.to_string_lossy().starts_with('-')) {
        return (&[], given);
    }
    match given.iter().position(|word| word == OsStr::new("--")) {
        Some(at) => (&given[..at], &given[at + 1..]),
        None => (given, &[]),
    }
}

/// Whether perf records more than the processes that it starts or is attached to.
pub(super) fn is_of_whole_machine(given: &[OsString]) -> bool {
    let (options, _) = split(given);
    !options.iter().any(|option| is_any(option, &TARGETS) && !is_any(option, &CPUS))
}

/// The processes that perf is attached to.
pub(super) fn attached(given: &[OsString]) -> Vec<i32> {
    let named = values(given, "-p", "--pid");
    named.iter().flat_map(|list| list.split(',')).filter_map(|pid| pid.trim().parse().ok()).collect()
}

/// The values that perf's options have for one of them, which follow it or stand in the same word.
pub(super) fn values(given: &[OsString], short: &str, long: &str) -> Vec<String> {
    let (options, _) = split(given);
    let mut found = Vec::new();
    let mut words = options.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == short || word == long {
            found.extend(words.next().map(Into::into));
        } else if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            found.push(value.to_owned());
        } else if let Some(value) = word.strip_prefix(short).filter(|_| !word.starts_with("--")) {
            found.push(value.to_owned());
        }
    }
    found
}

/// The command as one line that a shell takes.
pub(crate) fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| report::shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
