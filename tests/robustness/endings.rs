//! Ends in the middle: by SIGKILL, SIGTERM and SIGINT, and by a capture that becomes shorter while it is read.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::output_files::{Copied, OF_FILES, assert_succeeds, name_for, names};
use rustix::process::{Pid, Signal, kill_process};

use crate::captures::{bundled, emulated, tailtrace};

/// How often each command is killed; `scripts/test captures` sets more.
fn kills() -> u32 {
    std::env::var("TAILTRACE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

/// The same command, which takes signals: what a script starts in the background begins with SIGINT ignored, and `nohup` ignores
/// SIGHUP, and these tests may run so.
fn taking_signals(command: &Command) -> Command {
    let mut taking = Command::new("env");
    taking.args(["--default-signal=HUP,INT,TERM", "--"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        taking.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => taking.env(name, value),
            None => taking.env_remove(name),
        };
    }
    taking
}

/// A file, or the files of a folder, with their contents.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(PathBuf::new(), fs::read(path).expect("readable"))];
    }
    let below = |name: OsString| {
        let inside = contents(&path.join(&name)).into_iter();
        inside.map(move |(path, bytes)| (Path::new(&name).join(path), bytes))
    };
    names(path).into_iter().flat_map(below).collect()
}

fn signal(process: &Child, signal: Signal) {
    // It may have ended already.
    let _ = kill_process(Pid::from_child(process), signal);
}

/// A run to its end. The function has no calls in the trace (exit code 1), and that is kept, too.
#[track_caller]
fn run_whole(words: &str, mut command: Command) {
    let output = command.output().expect("tailtrace runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(i32::from(words.starts_with("stat"))), "{words}: {said}");
}

/// When to end a run: after a part of its usual time, or as soon as anything new is in the folder.
enum Moment {
    After(Duration),
    AtFirstSight,
}

impl Moment {
    /// The moments of a test; seeded, by a linear congruential generator.
    fn all(usual: Duration, count: u32) -> impl Iterator<Item = Moment> {
        (0..count).scan(7u32, move |seed, number| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let part = usual.mul_f64(f64::from(*seed) / f64::from(u32::MAX));
            Some(if number % 2 == 0 { Moment::After(part) } else { Moment::AtFirstSight })
        })
    }

    fn wait(&self, process: &mut Child, out: &Path) {
        match self {
            Moment::After(time) => sleep(*time),
            Moment::AtFirstSight => {
                let folder = out.parent().expect("a folder");
                let seen = || (names(folder), fs::metadata(out).map(|out| out.len()).ok());
                let before = seen();
                while seen() == before && process.try_wait().expect("known").is_none() {}
            }
        }
    }
}

/// Ends runs of every command that writes by a signal; gives what was in the folder besides the output to `check`.
fn end_all(with: Signal, check: impl Fn(&str, ExitStatus, Vec<OsString>)) {
    let commands = OF_FILES.into_iter().chain(["bundle -o", "stat --function foo"]);
    for (number, words) in commands.enumerate() {
        let copied = Copied::new();
        let is_cache = words.starts_with("stat");
        let name = match words {
            "bundle -o" if number >= OF_FILES.len() => "ticket",
            _ if is_cache => "calls-",
            _ => name_for(words),
        };
        // The last word is the output's name; the name of kept calls is known after a run.
        let folder = if is_cache { copied.at("tailtrace") } else { copied.folder.path().to_owned() };
        let command = || {
            if !is_cache {
                return copied.command(words, Path::new(name));
            }
            let mut command = tailtrace();
            command.current_dir(copied.folder.path()).env("XDG_CACHE_HOME", copied.folder.path());
            command.args(["stat", "-i", "perf.data", "--symfs", "root", "--function", "foo"]);
            command
        };
        let begin = Instant::now();
        run_whole(words, command());
        let usual = begin.elapsed();
        let is_out = |found: &OsString| found.to_string_lossy().starts_with(name);
        let out = folder.join(names(&folder).into_iter().find(|name| is_out(name)).expect("an output"));
        let whole = contents(&out);
        let inputs: Vec<OsString> = names(&folder).into_iter().filter(|name| !is_out(name)).collect();
        for (number, moment) in Moment::all(usual, kills()).enumerate() {
            let remove =
                |path: &Path| if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            let _ = remove(&out);
            let is_replacing = number % 4 < 2 && name != "ticket" && !is_cache;
            if is_replacing {
                fs::write(&out, "old").expect("written");
            }
            let mut process = taking_signals(&command())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("tailtrace runs");
            moment.wait(&mut process, &out);
            signal(&process, with);
            let status = process.wait().expect("ends");
            let found = out.exists().then(|| contents(&out));
            let old = is_replacing.then(|| vec![(PathBuf::new(), b"old".to_vec())]);
            let lengths = found.iter().flatten().map(|(path, bytes)| (path, bytes.len()));
            assert!(
                found == old || found.as_ref() == Some(&whole),
                "{words}: neither old nor complete: {:?}",
                lengths.collect::<Vec<_>>()
            );
            let others = names(&folder).into_iter().filter(|name| !is_out(name) && !inputs.contains(name));
            check(words, status, others.collect());
        }
        // Whatever was left, the next run removes.
        let _ = fs::remove_dir_all(&out).or_else(|_| fs::remove_file(&out));
        run_whole(words, command());
        let left = names(&folder).into_iter().filter(|name| !is_out(name) && !inputs.contains(name));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<OsString>::new(), "{words}: left for ever");
    }
}

#[test]
fn a_killed_run_leaves_the_old_output_or_the_new_one() {
    end_all(Signal::KILL, |words, _, others| {
        let is_draft = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with('.') && name.contains(".tailtrace-")
        };
        assert!(others.iter().all(is_draft) && others.len() <= 1, "{words}: {others:?}");
    });
}

#[test]
fn a_run_that_is_asked_to_end_leaves_nothing_else() {
    for with in [Signal::TERM, Signal::INT] {
        end_all(with, |words, status, others| {
            assert_eq!(others, Vec::<OsString>::new(), "{words} {with:?}");
            // As a shell and `make` expect it: ended by the signal, if it did not end before.
            let is_whole = matches!(status.code(), Some(0 | 1));
            assert!(is_whole || status.signal() == Some(with.as_raw()), "{words}: {status}");
        });
    }
}

/// A bundle of a capture with a kernel: its opening takes a while.
fn packed(folder: &Path) -> PathBuf {
    let (capture, out) = (emulated("fault"), folder.join("ticket.tar.zst"));
    let (intervals, path) = (capture.intervals(), out.to_string_lossy().into_owned());
    let output = capture.tailtrace("bundle", &["--intervals", &intervals, "--top", "1", "-o", &path]);
    assert_succeeds("bundle", &output);
    out
}

/// Bundles of a kernel have many files, and large ones: a run that is killed while it writes them leaves none by the bundle's name.
#[test]
fn a_bundle_is_there_as_a_whole_or_not_at_all() {
    let (capture, folder) = (emulated("fault"), tempfile::tempdir().expect("a folder"));
    let intervals = capture.intervals();
    for (name, command) in [("ticket", "bundle"), ("ticket.tar.zst", "bundle"), ("slice", "slice")] {
        let out = folder.path().join(name);
        let start = || {
            let mut process = tailtrace();
            process.arg(command).arg("-i").arg(&capture.perf_data).arg("--symfs").arg(&capture.symfs);
            process.args(["--intervals", &intervals, "--top", "1", "--baselines", "1", "-o"]).arg(&out);
            process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tailtrace runs")
        };
        assert!(start().wait().expect("ends").success());
        let whole = contents(&out);
        for number in 0..4 {
            let _ = fs::remove_dir_all(&out).or_else(|_| fs::remove_file(&out));
            let mut process = start();
            Moment::AtFirstSight.wait(&mut process, &out);
            sleep(Duration::from_millis(number));
            signal(&process, Signal::KILL);
            process.wait().expect("ends");
            let found = out.exists().then(|| contents(&out));
            assert!(found.is_none_or(|found| found == whole), "{name}: not complete, after {number} ms");
        }
    }
}

/// Starts to explain a bundle whose files are unpacked below `temporary`, and waits until its folder is there.
fn unpacking(bundle: &Path, temporary: &Path) -> (Child, PathBuf) {
    let mut command = taking_signals(&tailtrace());
    command.env("TMPDIR", temporary).arg("explain").arg(bundle).stdout(Stdio::null()).stderr(Stdio::null());
    let mut start = || command.spawn().expect("tailtrace runs");
    let mut process = start();
    // Until something is in it: while it is made, the thread that a fault stops may be the one that must finish that.
    loop {
        let made = names(temporary).into_iter().map(|name| temporary.join(name));
        let holds_any = |folder: &PathBuf| fs::read_dir(folder).is_ok_and(|mut found| found.next().is_some());
        if let Some(folder) = made.into_iter().find(holds_any) {
            return (process, folder);
        }
        if let Some(status) = process.try_wait().expect("known") {
            // On a busy machine it may be done before it is seen.
            assert!(status.success(), "it never unpacked: {status}");
            process = start();
        }
    }
}

#[test]
fn an_unpacked_bundle_is_private_and_goes_however_the_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = packed(folder.path());
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("made");
    for with in [Signal::TERM, Signal::INT, Signal::HUP, Signal::SEGV, Signal::ABORT] {
        let ended = (0..100).any(|_| {
            let (mut process, unpacked) = unpacking(&bundle, &temporary);
            let mode = fs::metadata(&unpacked).map(|found| found.mode());
            assert!(mode.is_err() || mode.is_ok_and(|mode| mode & 0o777 == 0o700), "others can read it");
            signal(&process, with);
            let status = process.wait().expect("ends");
            assert_eq!(names(&temporary), Vec::<OsString>::new(), "{with:?}");
            // On a busy machine it may have ended before.
            assert!(status.success() || status.signal() == Some(with.as_raw()), "{with:?}: {status}");
            !status.success()
        });
        assert!(ended, "no run was ended by {with:?}");
    }
    // What no process can take leaves a folder, which the next run removes; one that is in use stays.
    let (mut killed, left) = unpacking(&bundle, &temporary);
    signal(&killed, Signal::STOP);
    let explain = || {
        let output = tailtrace().env("TMPDIR", &temporary).arg("explain").arg(&bundle).output();
        assert_succeeds("explain", &output.expect("tailtrace runs"));
    };
    explain();
    assert!(left.is_dir(), "the folder of a run that goes on was removed");
    signal(&killed, Signal::KILL);
    killed.wait().expect("ends");
    assert!(left.is_dir(), "the test tests nothing");
    // A stranger's link of such a name is left alone, and so is what it leads to.
    let mine = folder.path().join("mine");
    fs::create_dir(&mine).expect("made");
    fs::write(mine.join("file"), "mine").expect("written");
    let name = left.file_name().expect("a name").to_string_lossy().into_owned();
    let link = temporary.join(format!("{}aaaaaa", &name[..name.len() - 6]));
    symlink(&mine, &link).expect("linked");
    explain();
    assert_eq!(names(&temporary), [link.file_name().expect("a name")]);
    assert_eq!(names(&mine), ["file"]);
}

/// A fault in the moment in which the folder is made and not yet noted may leave it: the next run removes it.
#[test]
fn a_folder_that_a_fault_leaves_is_removed_by_the_next_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = packed(folder.path());
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("made");
    for with in [Signal::SEGV, Signal::BUS, Signal::ABORT] {
        for _ in 0..4 {
            let before = names(&temporary);
            let mut command = taking_signals(&tailtrace());
            command.env("TMPDIR", &temporary).arg("explain").arg(&bundle);
            let mut process =
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tailtrace runs");
            while names(&temporary) == before && process.try_wait().expect("known").is_none() {}
            signal(&process, with);
            let status = process.wait().expect("ends");
            assert!(status.success() || status.signal() == Some(with.as_raw()), "{with:?}: {status}");
            assert!(names(&temporary).len() <= 1, "{with:?}: {:?}", names(&temporary));
        }
        let output = tailtrace().env("TMPDIR", &temporary).arg("explain").arg(&bundle).output();
        assert_succeeds("explain", &output.expect("tailtrace runs"));
        assert_eq!(names(&temporary), Vec::<OsString>::new(), "{with:?}");
    }
}

/// Starts `dump --insns`, waits until its output fills the pipe, does `harm`, and reads on.
fn harmed(perf_data: &Path, symfs: &Path, harm: impl FnOnce()) -> Output {
    let mut command = tailtrace();
    command.args(["dump", "--insns", "--jobs", "1", "-i"]).arg(perf_data).arg("--symfs").arg(symfs);
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tailtrace runs");
    let mut stdout = process.stdout.take().expect("piped");
    stdout.read_exact(&mut [0]).expect("a first byte");
    sleep(Duration::from_millis(300));
    harm();
    std::io::copy(&mut stdout, &mut std::io::sink()).expect("readable");
    process.wait_with_output().expect("ends")
}

fn shorten(path: &Path) {
    fs::OpenOptions::new().write(true).open(path).expect("opened").set_len(4096).expect("cut");
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_named() {
    let sound = emulated("fault");
    for name in ["data", "kcore_dir/kcore"] {
        let folder = tempfile::tempdir().expect("a folder");
        let perf_data = folder.path().join("perf.data");
        fs::create_dir_all(perf_data.join("kcore_dir")).expect("made");
        for file in ["data", "kcore_dir/kcore", "kcore_dir/kallsyms", "kcore_dir/modules"] {
            fs::copy(sound.perf_data.join(file), perf_data.join(file)).expect("copied");
        }
        let shortened = perf_data.join(name);
        fs::set_permissions(&shortened, fs::Permissions::from_mode(0o600)).expect("set");
        let output = harmed(&perf_data, &sound.symfs, || shorten(&shortened));
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().last().unwrap_or_default();
        if output.status.code() == Some(2) {
            assert!(line.contains(name) && line.contains("became shorter"), "{name}: {said}");
        } else {
            // libipt compares a file's size before it maps it once more: a gap with its place.
            assert!(output.status.success() && name != "data", "{name}: {} {said}", output.status);
            assert!(said.contains("bad image"), "{name}: {said}");
        }
    }
    // The test can fail: without harm it is listed to its end.
    let output = harmed(&bundled("multicore").perf_data, &bundled("multicore").symfs, || ());
    assert_succeeds("unharmed", &output);
}
