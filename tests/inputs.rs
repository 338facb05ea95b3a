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
    for format in ["folded", "csv", "firefox", "perfetto"] {
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
