//! The command line of `perf record`, as the README recommends it.
//!
//! Input: where to write, and what the user wants of perf. Output: the words of the command. What the user names goes last, so
//! that it counts where perf takes an option once; a trace of some processes or CPUs is not one of the whole machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Result, ensure};

/// Packets for each cycle count, and the returns that call trees need.
const TRACE: &str = "intel_pt/cyc=1,cyc_thresh=1,mtc_period=0,noretcomp=1/";
/// The records that tell why a thread was off its CPU, and what interrupted it.
const RECORDS: [&str; 4] = ["sched:sched_switch", "sched:sched_waking", "irq:*", "power:cpu_idle"];
/// perf's options that say what is recorded, instead of the whole machine.
const TARGETS: [&str; 8] = ["-p", "--pid", "-t", "--tid", "-C", "--cpu", "--per-thread", "-u"];

/// The words of the command that records into `output`; `given` are perf's own options, `--`, and the program.
///
/// # Errors
/// Where `given` names another output: the machine file would lie beside the wrong one.
pub(super) fn compose(output: &Path, given: &[OsString]) -> Result<Vec<OsString>> {
    let (options, program) = split(given);
    for option in options {
        let text = option.to_string_lossy();
        let names_output =
            text.starts_with("--output") || (text.starts_with("-o") && !text.starts_with("--"));
        ensure!(
            !names_output,
            "name {text} before perf's options: tailtrace writes the machine file beside the capture"
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

/// perf's options and the program. Without a `--`, which the parser of arguments takes where it comes first, all is the
/// program unless it begins with an option.
fn split(given: &[OsString]) -> (&[OsString], &[OsString]) {
    if let Some(at) = given.iter().position(|word| word == OsStr::new("--")) {
        return (&given[..at], &given[at + 1..]);
    }
    let is_option = given.first().is_some_and(|word| word.to_string_lossy().starts_with('-'));
    if is_option { (given, &[]) } else { (&[], given) }
}

/// The command as one line that a shell takes.
pub(super) fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| report::shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(given: &[&str]) -> String {
        let given: Vec<OsString> = given.iter().map(OsString::from).collect();
        shown(&compose(Path::new("perf.data"), &given).expect("a command"))
    }

    /// What people paste from the README is what `tailtrace record` runs.
    #[test]
    fn the_command_is_the_readmes() {
        let readme = include_str!("../../../README.md").replace("\\\n", " ");
        let recommended = readme.lines().find(|line| line.starts_with("perf record ")).expect("a command");
        let recommended = recommended.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line(&["./program"]).replace(" -o perf.data", ""), recommended);
    }

    #[test]
    fn perfs_own_options_go_last_and_the_program_behind_them() {
        let options = ["-e", "block:*", "-m", "16M", "--", "app", "a b", "--", "-x"];
        assert!(
            line(&options).ends_with("-o perf.data -e 'block:*' -m 16M -- app 'a b' -- -x"),
            "{}",
            line(&options)
        );
        assert!(line(&["-e", "block:*"]).ends_with("-o perf.data -e 'block:*'"), "until it is interrupted");
        assert!(line(&["-C", "2"]).starts_with("perf record --kcore"), "not of the whole machine");
        assert!(line(&["--pid=7"]).starts_with("perf record --kcore"));
        let own = line(&["-e", "intel_pt/cyc=0/u", "--", "app"]);
        assert_eq!(own.matches("intel_pt/").count(), 1, "{own}");
    }

    #[test]
    fn the_output_is_named_once() {
        let compose = |output: &str, given: &[&str]| {
            compose(Path::new(output), &given.iter().map(OsString::from).collect::<Vec<_>>())
        };
        for given in [&["-o", "x"][..], &["-ox", "--", "app"], &["--output=x"], &["-e", "a", "--output", "x"]]
        {
            assert!(compose("perf.data", given).is_err(), "{given:?}");
        }
        assert!(compose("perf.data", &["-e", "a", "--", "cc", "-o", "x"]).is_ok(), "the program's own");
        assert!(compose("-", &["--", "app"]).is_err());
    }
}
