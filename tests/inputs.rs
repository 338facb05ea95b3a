//! What a command reads and where it writes: captures and bundles named in any way, stdout as a file, colours and notes.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::captures::{Capture, emulated, tailtrace};

/// The command in `folder`, with such an environment.
fn run(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut process = tailtrace();
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TAILTRACE_INPUT"] {
        process.env_remove(name);
    }
    process.current_dir(folder).args(arguments).envs(environment.iter().copied());
    process.output().expect("tailtrace runs")
}

#[track_caller]
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The capture's options besides the capture itself.
fn options(capture: &Capture) -> [String; 4] {
    let symfs = capture.symfs.to_string_lossy().into_owned();
    ["--symfs".into(), symfs, "--intervals".into(), capture.intervals()]
}

/// A folder with a link to the capture as `perf.data`, and the bundle of its slowest interval as an archive and as a folder.
fn with_bundles(capture: &Capture) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(&capture.perf_data, folder.path().join("perf.data")).expect("a link");
    for out in ["ticket", "ticket.tar.zst"] {
        let options = options(capture);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let output = run(folder.path(), &[&["bundle", "--top", "1", "-o", out], &options[..]].concat(), &[]);
        stdout(&output);
        assert!(stderr(&output).contains(&format!("tailtrace: wrote {out}, ")), "{}", stderr(&output));
    }
    folder
}

#[test]
fn a_capture_is_named_in_four_ways() {
    let capture = emulated("fault");
    let folder = with_bundles(&capture);
    let options = options(&capture);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let answer = |arguments: &[&str], environment: &[(&str, &str)]| {
        stdout(&run(folder.path(), &[arguments, &options, &["--format", "json"]].concat(), environment))
    };
    for command in ["stat", "explain"] {
        let expected = answer(&[command, "-i", "perf.data"], &[]);
        assert_eq!(answer(&[command, "perf.data"], &[]), expected, "{command}");
        assert_eq!(answer(&[command], &[]), expected, "{command}");
        assert_eq!(answer(&[command], &[("TAILTRACE_INPUT", "perf.data")]), expected, "{command}");
        // What the arguments say goes first.
        assert_eq!(answer(&[command, "perf.data"], &[("TAILTRACE_INPUT", "none")]), expected, "{command}");
    }
    let both = run(folder.path(), &["stat", "perf.data", "-i", "perf.data"], &[]);
    assert_eq!(both.status.code(), Some(2));
    assert!(stderr(&both).contains("cannot be used with"), "{}", stderr(&both));
}

/// Each command that reads one capture reads a bundle, named in either way.
#[test]
fn each_command_reads_bundles() {
    let folder = with_bundles(&emulated("fault"));
    let answer = |arguments: &[&str]| stdout(&run(folder.path(), arguments, &[]));
    for arguments in [
        &["stat", "--format", "json"][..],
        &["explain", "--format", "json"],
        &["export", "--to", "csv", "-o", "-"],
        &["dump", "--count"],
        &["dump", "--records"],
    ] {
        let expected = answer(&[arguments, &["-i", "ticket"]].concat());
        assert!(!expected.is_empty());
        for named in [&["ticket"][..], &["ticket.tar.zst"], &["-i", "ticket.tar.zst"]] {
            assert_eq!(answer(&[arguments, named].concat()), expected, "{arguments:?} {named:?}");
        }
    }
    let stat = answer(&["stat", "ticket.tar.zst"]);
    assert!(
        stat.lines().next().is_some_and(|line| line.starts_with("capture") && line.contains("slice")),
        "{stat}"
    );
    answer(&["slice", "ticket.tar.zst", "-o", "again.data"]);
    answer(&["explain", "again.data"]);
    answer(&["bundle", "ticket", "-o", "again.tar.zst"]);
    answer(&["explain", "again.tar.zst"]);
    answer(&["diff", "ticket", "ticket.tar.zst"]);
    // What is read is not written over.
    let slice = || fs::read(folder.path().join("ticket/slice/data")).expect("the slice");
    let before = slice();
    let output = run(folder.path(), &["export", "ticket", "--to", "csv", "-o", "ticket/slice/data"], &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(slice(), before);
}

#[test]
fn a_dash_is_stdout() {
    let capture = emulated("fault");
    let folder = with_bundles(&capture);
    let bytes = |arguments: &[&str]| {
        let output = run(folder.path(), arguments, &[]);
        stdout(&output);
        output.stdout
    };
    for format in ["folded", "flamegraph", "csv", "firefox", "perfetto"] {
        let written = run(folder.path(), &["export", "ticket", "--to", format, "-o", "out"], &[]);
        assert_eq!(stdout(&written), "");
        assert!(stderr(&written).contains("tailtrace: wrote out, "), "{}", stderr(&written));
        let file = fs::read(folder.path().join("out")).expect("written");
        assert_eq!(bytes(&["export", "ticket", "--to", format, "-o", "-"]), file, "{format}");
    }
    bytes(&["explain", "ticket", "--html", "page.html"]);
    let page = fs::read(folder.path().join("page.html")).expect("written");
    assert_eq!(bytes(&["explain", "ticket", "--html", "-"]), page);
    assert!(!folder.path().join("-").exists());
}

#[test]
fn archives_of_other_kinds_are_not_promised() {
    let capture = emulated("fault");
    let folder = with_bundles(&capture);
    for name in ["x.zip", "x.tar", "x.tar.gz", "x.TGZ", "x.zst"] {
        let output = run(folder.path(), &["bundle", "ticket", "-o", name], &[]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(stderr(&output).contains("whose name ends in .tar.zst"), "{}", stderr(&output));
        assert!(!folder.path().join(name).exists(), "{name}");
    }
}

/// By no-color.org and CLICOLOR's description; stdout is no terminal here.
#[test]
fn colours_are_as_requested() {
    let folder = with_bundles(&emulated("fault"));
    let has = |arguments: &[&str], environment: &[(&str, &str)]| {
        let arguments = [&["explain", "ticket"], arguments].concat();
        stdout(&run(folder.path(), &arguments, environment)).contains("\x1b[")
    };
    assert!(!has(&[], &[]));
    assert!(has(&["--color", "always"], &[]));
    assert!(has(&["--color", "always"], &[("NO_COLOR", "1"), ("TERM", "dumb")]));
    assert!(has(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has(&[], &[("CLICOLOR_FORCE", "0")]));
    assert!(!has(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!has(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

/// Notes and warnings go, the answer and errors stay.
#[test]
fn quiet_leaves_errors() {
    let capture = emulated("fault");
    let folder = with_bundles(&capture);
    let said = run(folder.path(), &["export", "ticket", "--to", "csv", "-o", "out"], &[]);
    assert!(!stderr(&said).is_empty());
    let quiet = run(folder.path(), &["-q", "export", "ticket", "--to", "csv", "-o", "quiet"], &[]);
    assert!(quiet.status.success() && stderr(&quiet).is_empty(), "{}", stderr(&quiet));
    let read = |name: &str| fs::read(folder.path().join(name)).expect("written");
    assert_eq!(read("out"), read("quiet"));
    let none = run(folder.path(), &["stat", "none.data", "--quiet"], &[]);
    assert_eq!((none.status.code(), stderr(&none).lines().count()), (Some(2), 1), "{}", stderr(&none));
}

/// What lies beside the capture is read where nothing else is named, and that is said.
#[test]
fn intervals_beside_the_capture_are_read() {
    let capture = emulated("fault");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    std::os::unix::fs::symlink(&capture.perf_data, place.join("perf.data")).expect("a link");
    let none = run(place, &["stat"], &[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("intervals.csv beside the capture is read"), "{}", stderr(&none));
    fs::copy(capture.intervals(), place.join("intervals.csv")).expect("copied");
    let named = run(place, &["stat", "--intervals", "intervals.csv", "--format", "csv"], &[]);
    let beside = run(place, &["stat", "--format", "csv"], &[]);
    assert_eq!(stdout(&beside), stdout(&named));
    let said = "note: the intervals are those of intervals.csv, which lies beside the capture";
    assert!(stderr(&beside).contains(said) && !stderr(&named).contains(said), "{}", stderr(&beside));
    // It is an input, and so not written over.
    let over = run(place, &["export", "--top", "1", "--to", "csv", "-o", "intervals.csv"], &[]);
    assert_eq!(over.status.code(), Some(2), "{}", stderr(&over));
    // One file for two captures is as doubtful as where it is named.
    std::os::unix::fs::symlink(&emulated("preempt").perf_data, place.join("other.data")).expect("a link");
    let both = run(place, &["diff", "perf.data", "other.data"], &[]);
    assert_eq!(both.status.code(), Some(2));
    assert!(stderr(&both).contains("--same-intervals"), "{}", stderr(&both));
}

#[test]
fn a_dash_is_stdin() {
    let capture = emulated("fault");
    let folder = with_bundles(&capture);
    let piped = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.env("TAILTRACE", env!("CARGO_BIN_EXE_tailtrace")).env("CSV", capture.intervals());
        shell.current_dir(folder.path()).args(["-c", script]).output().expect("sh runs")
    };
    let named = run(folder.path(), &["stat", "--format", "json", "--intervals", &capture.intervals()], &[]);
    for script in [
        "cat \"$CSV\" | \"$TAILTRACE\" stat --format json --intervals -",
        "\"$TAILTRACE\" stat --format json --intervals - < \"$CSV\"",
    ] {
        assert_eq!(stdout(&piped(script)), stdout(&named), "{script}");
    }
    let empty = piped("\"$TAILTRACE\" stat - </dev/null");
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("stdin is empty"), "{}", stderr(&empty));
    let both = piped("\"$TAILTRACE\" stat - --intervals - <\"$CSV\"");
    assert!(stderr(&both).contains("name a file for one of them"), "{}", stderr(&both));
    let twice = run(folder.path(), &["diff", "perf.data", "perf.data", "--intervals", "-"], &[]);
    assert!(stderr(&twice).contains("stdin is read once"), "{}", stderr(&twice));
}

/// Thread names of the capture: `worker` marks the intervals.
#[test]
fn names_that_nothing_has_are_answered_with_those_there_are() {
    let capture = emulated("fault");
    let intervals = capture.intervals();
    let said = |arguments: &[&str]| {
        let output = capture.tailtrace("stat", &[&["--intervals", &intervals], arguments].concat());
        (output.status.code(), stderr(&output))
    };
    let (code, text) = said(&["--comm", "wroker"]);
    assert_eq!(code, Some(1), "{text}");
    let expected =
        "--comm wroker: no interval is of a thread of this name; did you mean worker? There is worker (500)";
    assert!(text.contains(expected), "{text}");
    let (code, text) = said(&["--comm", "wroker,worker"]);
    assert!(code == Some(0) && text.contains("did you mean worker?"), "{text}");
    let (code, text) = said(&["--label", "order"]);
    assert!(
        code == Some(1) && text.contains("--label order: no interval has this label; there is fault (500)"),
        "{text}"
    );
    assert!(!said(&["--label", "fault"]).1.contains("--label"));
}

/// The rows of the interval file, by a calculation of their own: 16 intervals touch fresh pages.
#[test]
fn stat_counts_what_the_options_select() {
    let capture = emulated("fault");
    let durations = crate::diff::durations(&capture);
    let over = durations[450];
    let longer = durations.iter().filter(|&&duration| duration > over).count();
    let intervals = capture.intervals();
    let stat = |format: &str| {
        let over = format!("{over}ns");
        let arguments = ["--intervals", &intervals, "--over", &over, "--format", format];
        stdout(&capture.tailtrace("stat", &arguments))
    };
    let text = stat("text");
    assert!(text.lines().any(|line| line.starts_with(&format!("selected    {longer} of 500, "))), "{text}");
    let json: serde_json::Value = serde_json::from_str(&stat("json")).expect("JSON");
    assert_eq!(json["selection"]["selected"], longer);
    let csv = stat("csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let cell =
        |name: &str| rows[1][rows[0].iter().position(|head| *head == name).expect("a column")].to_owned();
    assert_eq!(cell("selected"), longer.to_string());
    assert_eq!(cell("lowest"), durations[0].to_string());
    assert_eq!(cell("p50"), durations[249].to_string());
    assert_eq!(cell("highest"), durations[499].to_string());
    assert!(stat("markdown").contains(&format!("Selected: {longer} of 500, ")), "{}", stat("markdown"));
    // Without such options there is nothing to count.
    let plain = stdout(&capture.tailtrace("stat", &["--intervals", &intervals]));
    assert!(!plain.contains("\nselected"), "{plain}");
}
