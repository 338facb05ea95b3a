//! The command line of `perf record`, as the README recommends it.
//!
//! Input: where to write, and what the user wants of perf. Output: the words of the command. What the user names goes last, so
//! that it counts where perf takes an option once; a trace of some processes or CPUs is not one of the whole machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, ensure};

/// Packets for each cycle count, and the returns that call trees need.
const TRACE: &str = "intel_pt/cyc=1,cyc_thresh=1,mtc_period=0,noretcomp=1/";
/// The records that show why a thread was off its CPU, and what interrupted it.
const RECORDS: [&str; 4] = ["sched:sched_switch", "sched:sched_waking", "irq:*", "power:cpu_idle"];
/// perf's options that say what is recorded, instead of the whole machine.
const TARGETS: [&str; 8] = ["-p", "--pid", "-t", "--tid", "-C", "--cpu", "--per-thread", "-u"];

/// perf's long options, each as short as perf takes it, by which it writes files of other names than it is given.
const OTHER_NAMES: [&str; 2] = ["--switch-o", "--timestamp-f"];
/// perf's short options that take a value, which may follow in the same word.
const VALUED: &str = "cCDeFGIjkmprStuz";

/// The words of the command that records into `output`; `given` are perf's own options, `--`, and the program.
///
/// # Errors
/// Where `given` names another output, or has perf choose names: the machine file would lie beside the wrong one.
pub(crate) fn compose(output: &Path, given: &[OsString]) -> Result<Vec<OsString>> {
    let (options, program) = split(given);
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
    let is = |option: &OsString, names: &[&str]| {
        let text = option.to_string_lossy();
        names.iter().any(|name| text.split('=').next() == Some(*name))
    };
    let has_target = options.iter().any(|option| is(option, &TARGETS));
    let has_trace = options.iter().any(|option| option.to_string_lossy().starts_with("intel_pt/"));
    let mut words: Vec<OsString> = ["perf", "record"].map(OsString::from).to_vec();
    if !has_target {
        words.push("-a".into());
    }
    words.extend(["--kcore", "-m", "8M,64M"].map(OsString::from));
    let events = [TRACE].into_iter().filter(|_| !has_trace).chain(RECORDS);
    words.extend(events.flat_map(|event| ["-e", event]).map(OsString::from));
    words.extend(["--switch-events", "-o"].map(OsString::from));
    words.push(output.as_os_str().to_owned());
    words.extend(options.iter().cloned());
    if !program.is_empty() {
        words.push("--".into());
        words.extend(program.iter().cloned());
    }
    Ok(words)
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
