//! Files that commands leave: whole or not at all, one rule for what is there, and never over an input.

use std::ffi::{OsStr, OsString};
use std::fs::{self, hard_link};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::code_files::make_fifo;
use crate::captures::{bundled, emulated, repository, tailtrace};

/// A copy of a small capture, whose files may be damaged.
pub(super) struct Copied {
    pub(super) folder: TempDir,
}

impl Copied {
    pub(super) fn new() -> Copied {
        let folder = tempfile::tempdir().expect("a folder");
        let sound = bundled("multicore");
        fs::create_dir_all(folder.path().join("root/corpus")).expect("made");
        fs::copy(&sound.perf_data, folder.path().join("perf.data")).expect("copied");
        fs::copy(sound.symfs.join("corpus/m.out"), folder.path().join("root/corpus/m.out")).expect("copied");
        fs::copy(sound.intervals(), folder.path().join("intervals.csv")).expect("copied");
        Copied { folder }
    }

    pub(super) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tailtrace WORDS -i … OUT`, in the folder; `words` end in the option that `out` belongs to.
    pub(super) fn command(&self, words: &str, out: &Path) -> Command {
        let mut command = tailtrace();
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        let mut words = words.split(' ');
        let name = words.next().expect("a command");
        command.arg(name);
        if name != "generate" {
            command.args([
                "-i",
                "perf.data",
                "--symfs",
                "root",
                "--intervals",
                "intervals.csv",
                "--top",
                "1",
            ]);
        }
        command.args(words).arg(out);
        command
    }

    #[track_caller]
    pub(super) fn run(&self, words: &str, out: &Path) -> Output {
        self.command(words, out).output().expect("tailtrace runs")
    }
}

/// The commands that write a file, up to its name.
pub(super) const OF_FILES: [&str; 5] =
    ["explain --html", "export --to firefox -o", "slice -o", "bundle -o", "generate header -o"];

/// Names of the outputs of [`OF_FILES`]: that of a bundle says that it is an archive.
pub(super) fn name_for(words: &str) -> &'static str {
    if words.starts_with("bundle") { "out.tar.zst" } else { "out" }
}

#[track_caller]
pub(super) fn assert_succeeds(what: &str, output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

/// It fails in one line that says `why`.
#[track_caller]
fn assert_refused(what: &str, output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {said}");
    assert!(said.contains(why) && said.lines().count() == 1, "{what}: {said}");
}

/// All names in a folder, in order.
pub(super) fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).expect("readable");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_by_every_command_and_a_folder_by_none() {
    let copied = Copied::new();
    for words in OF_FILES {
        let out = copied.at(name_for(words));
        assert_succeeds(words, &copied.run(words, &out));
        let whole = fs::read(&out).expect("written");
        fs::write(&out, "old").expect("written");
        // Who may not read the old one may not read the new one.
        fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).expect("set");
        let before = fs::metadata(&out).expect("there").ino();
        assert_succeeds(words, &copied.run(words, &out));
        assert!(fs::read(&out).expect("written") == whole, "{words}: another file than without an old one");
        let after = fs::metadata(&out).expect("there");
        assert_eq!(after.mode() & 0o777, 0o600, "{words}");
        assert_ne!(after.ino(), before, "{words}: the old file was written over, and not replaced");
        fs::remove_file(&out).expect("removed");
        fs::create_dir(&out).expect("made");
        fs::write(out.join("mine"), "mine").expect("written");
        assert_refused(words, &copied.run(words, &out), "is there already");
        assert_eq!(names(&out), ["mine"], "{words}");
        fs::remove_dir_all(&out).expect("removed");
    }
    let folder = copied.at("ticket");
    for taken in
        [fs::write(&folder, "mine"), fs::remove_file(&folder).and_then(|()| symlink("nowhere", &folder))]
    {
        taken.expect("made");
        assert_refused("bundle", &copied.run("bundle -o", &folder), "is there already");
    }
    assert_eq!(fs::read_link(&folder).expect("still a link"), Path::new("nowhere"));
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let copied = Copied::new();
    for name in ["vmlinux", "kallsyms", "perf.data.machine.json", "perf.data.code"] {
        fs::write(copied.at(name), "x").expect("written");
    }
    fs::create_dir(copied.at("links")).expect("made");
    for name in [
        "perf.data",
        "intervals.csv",
        "root/corpus/m.out",
        "vmlinux",
        "kallsyms",
        "perf.data.machine.json",
        "perf.data.code",
    ] {
        let input = copied.at(name);
        let before = fs::read(&input).expect("readable");
        let (soft, hard) = (copied.at("links/soft"), copied.at("links/hard"));
        symlink(&input, &soft).expect("linked");
        hard_link(&input, &hard).expect("linked");
        for out in [&input, &soft, &hard] {
            for words in OF_FILES.iter().filter(|words| !words.starts_with("generate")) {
                // An archive's name has an ending; a folder is refused as it is there.
                let words = words.replacen(' ', " -k vmlinux --kallsyms kallsyms ", 1);
                let output = copied.run(&words, out);
                let why = if words.starts_with("bundle") { "" } else { "is an input of this command" };
                let what = format!("{words} {}", out.display());
                assert_refused(&what, &output, why);
            }
        }
        assert!(fs::read(&input).expect("readable") == before, "{name}");
        assert!(fs::symlink_metadata(&soft).expect("there").is_symlink(), "{name}");
        fs::remove_file(soft).and_then(|()| fs::remove_file(hard)).expect("removed");
    }
    // A file of a bundle, of which the manifest has a checksum; and a file of a capture that is a folder.
    let ticket = copied.at("ticket");
    assert_succeeds("bundle", &copied.run("bundle -o", &ticket));
    let explain = |bundle: &Path, out: &Path| {
        tailtrace().arg("explain").arg(bundle).arg("--html").arg(out).output().expect("tailtrace runs")
    };
    assert_refused("bundle", &explain(&ticket, &ticket.join("report.html")), "is an input of this command");
    assert_succeeds("bundle", &explain(&ticket, &ticket.join("again.html")));
    let fault = emulated("fault");
    let (kcore, linked) = (fault.perf_data.join("kcore_dir/kallsyms"), copied.at("linked"));
    symlink(&kcore, &linked).expect("linked");
    let intervals = fault.intervals();
    let output = fault
        .tailtrace("export", &["--intervals", &intervals, "--to", "csv", "-o", &linked.to_string_lossy()]);
    assert_refused("kallsyms", &output, "is an input of this command");
}

#[test]
fn a_link_is_followed_and_what_is_no_file_is_written_as_it_comes() {
    let copied = Copied::new();
    let (link, target) = (copied.at("link"), copied.at("target"));
    symlink("target", &link).expect("linked");
    for _ in 0..2 {
        assert_succeeds("link", &copied.run("explain --html", &link));
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert!(fs::read(&target).expect("written").ends_with(b"</html>\n"));
    }
    let page = fs::read_to_string(&target).expect("a page");
    let null = copied.run("explain --html", Path::new("/dev/null"));
    assert_succeeds("/dev/null", &null);
    let report = String::from_utf8(null.stdout).expect("UTF-8");
    // Into a pipe, and into a file: page and report, one after the other.
    let both = format!("{page}{report}");
    let piped = copied.run("explain --html", Path::new("/dev/stdout"));
    assert_eq!(String::from_utf8(piped.stdout).expect("UTF-8"), both);
    let file = fs::File::create(copied.at("both")).expect("made");
    let status = copied.command("explain --html", Path::new("/dev/stdout")).stdout(file).status();
    assert!(status.expect("runs").success());
    assert_eq!(fs::read_to_string(copied.at("both")).expect("written"), both);
    let fifo = copied.at("fifo");
    make_fifo(&fifo);
    let reader = Command::new("cat").arg(&fifo).stdout(Stdio::piped()).spawn().expect("cat runs");
    assert_succeeds("FIFO", &copied.run("explain --html", &fifo));
    assert_eq!(reader.wait_with_output().expect("ends").stdout, page.as_bytes());
    assert_refused(
        "/dev/full",
        &copied.run("explain --html", Path::new("/dev/full")),
        "No space left on device",
    );
    assert_refused("no folder", &copied.run("explain --html", &copied.at("none/out")), "cannot be written");
}

/// Linux takes any bytes for a name.
#[test]
fn names_that_are_no_text_work() {
    let copied = Copied::new();
    let odd = |name: &[u8]| copied.at(OsStr::from_bytes(name));
    for (from, to) in
        [("perf.data", &b"\xffperf.data"[..]), ("intervals.csv", b"\xfeintervals"), ("root", b"\xfdroot")]
    {
        fs::rename(copied.at(from), odd(to)).expect("renamed");
    }
    let run = |command: &str, words: &[&str], out: &Path| {
        let mut process = tailtrace();
        process.arg(command).arg("-i").arg(odd(b"\xffperf.data")).arg("--symfs").arg(odd(b"\xfdroot"));
        process.arg("--intervals").arg(odd(b"\xfeintervals")).args(["--top", "1"]).args(words).arg(out);
        assert_succeeds(command, &process.output().expect("tailtrace runs"));
    };
    run("explain", &["--html"], &odd(b"\xff.html"));
    run("export", &["--to", "csv", "-o"], &odd(b"\xff.csv"));
    run("slice", &["-o"], &odd(b"\xff.slice"));
    run("bundle", &["-o"], &odd(b"\xff"));
    run("bundle", &["-o"], &odd(b"\xff.tar.zst"));
    assert!(odd(b"\xff.tar.zst").is_file(), "the name of an archive");
    for bundle in [odd(b"\xff"), odd(b"\xff.tar.zst")] {
        assert_succeeds("explain", &tailtrace().arg("explain").arg(bundle).output().expect("tailtrace runs"));
    }
    let slice = tailtrace().args(["explain", "-i"]).arg(odd(b"\xff.slice")).output().expect("tailtrace runs");
    assert_succeeds("explain", &slice);
    assert_succeeds(
        "man",
        &tailtrace().args(["generate", "man", "-o"]).arg(odd(b"\xffman")).output().expect("runs"),
    );
    // As long as a name may be.
    let long = "x".repeat(247);
    run("bundle", &["-o"], &copied.at(format!("{long}.tar.zst")));
    assert_succeeds(
        "explain",
        &tailtrace().arg("explain").arg(copied.at(format!("{long}.tar.zst"))).output().expect("runs"),
    );
}

/// Four runs that write different intervals to one name: what is there is of one of them.
#[test]
fn runs_to_one_name_do_not_mix() {
    let capture = emulated("fault");
    let intervals = capture.intervals();
    let ids = ["3", "10", "20", "30"];
    for (command, out) in [("bundle", "ticket"), ("bundle", "ticket.tar.zst"), ("slice", "slice")] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join(out);
        let start = |id: &&str| {
            let mut process = tailtrace();
            process.arg(command).arg("-i").arg(&capture.perf_data).arg("--symfs").arg(&capture.symfs);
            process.args(["--intervals", &intervals, "--baselines", "2", "--id", id, "-o"]).arg(&out);
            process.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("tailtrace runs")
        };
        let running: Vec<_> = ids.iter().map(start).collect();
        let ended = running.into_iter().map(|process| process.wait_with_output().expect("ends"));
        let (done, refused): (Vec<_>, Vec<_>) = ended.partition(|output| output.status.success());
        let is_file = out.is_file();
        assert_eq!(done.len(), if is_file { 4 } else { 1 }, "{command} {}", out.display());
        for output in refused {
            assert_eq!(output.status.code(), Some(2), "{command}: {}", output.status);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("is there already"), "{command}: {said}");
        }
        assert_eq!(
            names(folder.path()),
            [out.file_name().expect("a name")],
            "{command}: something else is left"
        );
        let mut explain = tailtrace();
        explain
            .arg("explain")
            .args((command == "slice").then_some("-i"))
            .arg(&out)
            .arg("--symfs")
            .arg(&capture.symfs);
        let output = explain.args(["--format", "json"]).output().expect("tailtrace runs");
        assert_succeeds(command, &output);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let outliers = report["outliers"].as_array().expect("outliers");
        assert!(
            outliers.len() == 1 && ids.contains(&&*outliers[0]["id"].to_string()),
            "{command}: {outliers:?}"
        );
    }
}

/// Changes of direction and invisible characters in a name are shown as what they are.
#[test]
fn messages_hold_no_character_that_hides() {
    let evil = "\u{202e}atad\u{2066}\u{200b}\u{feff}\u{1b}[2J";
    for words in [
        &["dump", "--records", "-i", evil][..],
        &["explain", evil],
        &["stat", "--intervals", evil, "-i", "perf.data"],
    ] {
        let output =
            tailtrace().current_dir(repository().join("fixtures/captures/multicore")).args(words).output();
        let said = String::from_utf8(output.expect("tailtrace runs").stderr).expect("UTF-8");
        assert!(said.contains(r"\u{202e}atad\u{2066}\u{200b}\u{feff}\u{1b}[2J"), "{words:?}: {said}");
        assert!(!said.chars().any(|c| evil.contains(c) && !c.is_ascii_graphic()), "{words:?}: {said}");
    }
}
