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

/// perf's long options, each as short as perf takes it, by which it writes files of other names than it is given.
const OTHER_NAMES: [&str; 2] = ["--switch-o", "--timestamp-f"];
/// perf's short options that take a value, which may follow in the same word.
const VALUED: &str = "cCDeFGIjkmprStuz";

/// The words of the command that records into `output`; `given` are perf's own options, `--`, and the program.
///
/// # Errors
/// Where `given` names another output, or has perf choose names: the machine file would lie beside the wrong one.
pub(super) fn compose(output: &Path, given: &[OsString]) -> Result<Vec<OsString>> {
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

/// Whether perf takes the word for `-o`, alone or behind other letters, or for `--output`, which it takes in short, too.
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
    fn the_programs_own_border_is_the_programs() {
        for program in ["cargo run -p foo -- x", "cc -o x -- y"] {
            let words: Vec<&str> = program.split(' ').collect();
            assert_eq!(line(&words), format!("{} {program}", line(&["app"]).trim_end_matches(" app")));
            let behind_options = line(&[&["-e", "a", "--"][..], &words].concat());
            assert!(behind_options.ends_with(&format!("-o perf.data -e a -- {program}")), "{behind_options}");
        }
    }

    #[test]
    fn the_output_is_named_once() {
        let compose = |output: &str, given: &[&str]| {
            compose(Path::new(output), &given.iter().map(OsString::from).collect::<Vec<_>>())
        };
        for given in [
            &["-o", "x"][..],
            &["-ox", "--", "app"],
            &["--output=x"],
            &["-e", "a", "--output", "x"],
            &["--out", "x"],
            &["--ou=x"],
            &["-ao", "x"],
            &["-gvox"],
            &["--switch-output"],
            &["--switch-output=1G", "--", "app"],
            &["--switch-output-event", "a"],
            &["--timestamp-filename"],
            &["--timestamp-f"],
        ] {
            assert!(compose("perf.data", given).is_err(), "{given:?}");
        }
        for given in [
            &["-e", "a", "--", "cc", "-o", "x"][..],
            &["cc", "-o", "x", "--", "y"],
            &["-eprobe:foo", "-vpo", "--overwrite"],
            &["--timestamp", "--timestamp-boundary", "--switch-events"],
        ] {
            assert!(compose("perf.data", given).is_ok(), "{given:?}");
        }
        assert!(compose("-", &["--", "app"]).is_err());
    }
}
