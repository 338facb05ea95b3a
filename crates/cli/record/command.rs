//! The command line of `perf record`, as the README recommends it.
//!
//! Input: where to write, and what the user wants of perf. Output: the words of the command. What the user names goes last, so
//! that it counts where perf takes an option once; a trace of some processes or CPUs is not one of the whole machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, ensure};

use super::offered::Offered;
use super::preset::{DISKS, TOP_DOWN, option_after, tracepoints};
use crate::args::Preset;
use crate::machine::pt::{Feature, Pt};

/// MiB of the buffer for records, and of that for the trace, for each CPU.
pub(crate) const BUFFERS_MIB: (u64, u64) = (8, 64);
/// The same where they are kept until something is slow. A second of 10,000 requests a second with their system calls and switches;
/// 30 to 150 ms of a busy CPU's trace. The larger they are, the longer does perf write.
const KEPT_MIB: (u64, u64) = (8, 16);
/// perf overwrites its rings, and writes them at SIGUSR2.
const KEEP: [&str; 2] = ["--overwrite", "--switch-output=signal"];
/// The same with a trace: at SIGUSR2 the AUX areas are copied, then the file is closed; once more at the end (`e`). Only the areas are
/// overwritten, for perf (6.1) copies none of a ring that is written backwards: records are written as they come.
const KEEP_TRACE: [&str; 2] = ["-Se", "--switch-output=signal"];
/// perf's options that say what is recorded, instead of the whole machine.
const TARGETS: [&str; 8] = ["-p", "--pid", "-t", "--tid", "-C", "--cpu", "--per-thread", "-u"];

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
    format!("intel_pt/{}/", terms.join(","))
}

/// Samples a second of each CPU where there is no trace; perf's own default.
const SAMPLES_A_SECOND: u32 = 4000;

/// What of the recording is the user's choice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// The records beside the trace; `None`: light with a trace, standard and those of disks without.
    pub(crate) preset: Option<Preset>,
    /// No trace, even where the machine offers one.
    pub(crate) no_pt: bool,
    /// Rings are overwritten, and written out when something was slow.
    pub(crate) keeps: bool,
}

impl Asked {
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
    asked: Asked,
    offered: &Offered,
    given: &[OsString],
) -> Result<Composed> {
    let (options, program) = split(given);
    refuse_other_outputs(output, options)?;
    let names_trace = options.iter().any(|option| option.to_string_lossy().contains("intel_pt/"));
    ensure!(!(names_trace && asked.no_pt), "--no-pt, and intel_pt/ among perf's options: leave one out");
    let has_trace = names_trace || offered.has_pt() && !asked.no_pt;
    let mut words: Vec<OsString> = ["perf", "record"].map(OsString::from).to_vec();
    if asked.keeps {
        words.extend(if has_trace { KEEP_TRACE } else { KEEP }.map(OsString::from));
    }
    if !options.iter().any(|option| is_any(option, &TARGETS)) {
        words.push("-a".into());
    }
    let mut left_out = Vec::new();
    if has_trace {
        words.extend(trace(names_trace, asked, offered, &mut left_out).into_iter().map(OsString::from));
    } else {
        words.extend(samples(asked, offered, options).into_iter().map(OsString::from));
    }
    let (preset, more) = match asked.preset {
        Some(preset) => (preset, &[][..]),
        None if has_trace => (Preset::Light, &[][..]),
        None => (Preset::Standard, DISKS),
    };
    words.extend(events(preset, more, offered, &mut left_out).into_iter().map(OsString::from));
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
    names.iter().any(|name| text.split('=').next() == Some(*name))
}

/// Code, buffers and event of a trace.
fn trace(is_named: bool, asked: Asked, offered: &Offered, left_out: &mut Vec<String>) -> Vec<String> {
    let mut words = Vec::new();
    if offered.has_kcore() {
        words.push("--kcore".to_owned());
    } else {
        left_out.push("--kcore".to_owned());
    }
    let (records, trace) = asked.buffers_mib();
    words.extend(["-m".to_owned(), format!("{records}M,{trace}M")]);
    if !is_named {
        words.extend(["-e".to_owned(), trace_event(offered.pt.as_ref())]);
    }
    words
}

/// What stands for a trace where there is none: samples. A clock that a program can read, too, where the kernel does not publish
/// how perf's own follows from the TSC (`CLOCK_MONOTONIC_RAW`: no other one keeps its rate).
fn samples(asked: Asked, offered: &Offered, options: &[OsString]) -> Vec<String> {
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

/// The preset's records and counters, and `more`, as perf's options; those that the machine lacks go to `left_out`.
fn events(
    preset: Preset,
    more: &[&'static str],
    offered: &Offered,
    left_out: &mut Vec<String>,
) -> Vec<&'static str> {
    let mut words = Vec::new();
    for event in tracepoints(preset).into_iter().chain(more.iter().copied()) {
        if offered.has(event) {
            words.extend(["-e", event]);
            words.extend(option_after(event));
        } else {
            left_out.push(event.to_owned());
        }
    }
    match preset {
        Preset::Full if offered.has_top_down() => words.extend(["-e", TOP_DOWN]),
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
fn split(given: &[OsString]) -> (&[OsString], &[OsString]) {
    if !given.first().is_some_and(|word| word.to_string_lossy().starts_with('-')) {
        return (&[], given);
    }
    match given.iter().position(|word| word == OsStr::new("--")) {
        Some(at) => (&given[..at], &given[at + 1..]),
        None => (given, &[]),
    }
}

/// The command as one line that a shell takes.
pub(crate) fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| report::shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
