//! What is no regular file, or has no end, is refused by its type in every place where a file is named: nothing is read, nothing waits.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use super::Ending;
use super::code_files::make_fifo;
use super::output_files::Copied;

/// Seconds after which a run waits for something.
const PATIENCE: &str = "20";

/// The folder of found calls, in which the file is meant.
const KEPT_CALLS: &str = "caches/tailtrace";

/// A place where a file is named: the arguments, in which `FILE` is it, and what is laid there before.
const PLACES: [(&str, &str); 10] = [
    ("dump --records -i FILE", "FILE"),
    ("explain -i FILE --top 1", "FILE"),
    ("explain -i perf.data --symfs root --intervals intervals.csv --top 1 -k FILE", "FILE"),
    ("explain -i perf.data --symfs root --intervals intervals.csv --top 1 --kallsyms FILE", "FILE"),
    ("explain FILE", "FILE"),
    ("explain -i perf.data --symfs root --intervals intervals.csv --top 1", "perf.data.machine.json"),
    ("explain -i perf.data --symfs root --intervals intervals.csv --top 1", "perf.data.code"),
    ("explain -i perf.data --symfs root --intervals intervals.csv --top 1", "root/corpus/m.out"),
    ("stat -i perf.data --symfs root --function foo", KEPT_CALLS),
    ("slice -i folder --symfs root --intervals intervals.csv --top 1 -o out", "folder/kcore_dir/kallsyms"),
];

/// What it is, and what lays it at a path.
type Kind = (&'static str, fn(&Path));

#[test]
fn special_files_are_refused_by_type() {
    let kinds: [Kind; 5] = [
        ("a FIFO", make_fifo),
        ("an endless device", |path| symlink("/dev/zero", path).expect("linked")),
        ("the kernel's messages", |path| symlink("/proc/kmsg", path).expect("linked")),
        ("a terminal", |path| symlink("/dev/ptmx", path).expect("linked")),
        ("a socket", |path| drop(UnixListener::bind(path).expect("bound"))),
    ];
    for (words, place) in PLACES {
        for (what, lay) in kinds {
            run(&format!("{words}: {what} at {place}"), words, place, lay);
        }
    }
    // A pipe is a source of intervals (`--intervals <(zcat …)`); what has no end, or is taken away by reading, is none.
    for (what, lay) in &kinds[1..] {
        let words = "stat -i perf.data --symfs root --intervals FILE";
        run(&format!("{words}: {what}"), words, "FILE", *lay).ends_with(2, "FILE");
    }
}

#[track_caller]
fn run(what: &str, words: &str, place: &str, lay: fn(&Path)) -> Ending {
    let copied = Copied::new();
    if words.contains("-i folder") {
        fs::create_dir_all(copied.at("folder/kcore_dir")).expect("made");
        fs::rename(copied.at("perf.data"), copied.at("folder/data")).expect("renamed");
    }
    let mut path = copied.at(place);
    let caches = copied.at("caches");
    fs::create_dir(&caches).expect("made");
    if place == KEPT_CALLS {
        // Its name is that of a run before: one for which the function has no calls.
        let ending = command(words, &copied).output().expect("timeout runs");
        assert_eq!(ending.status.code(), Some(1), "{what}");
        let kept = fs::read_dir(&path).expect("a folder").next().expect("a file").expect("an entry");
        path = kept.path();
    }
    let _ = fs::remove_file(&path);
    lay(&path);
    Ending::judged(what, command(words, &copied).output().expect("timeout runs"))
}

fn command(words: &str, copied: &Copied) -> Command {
    let mut command = Command::new("timeout");
    command
        .args([PATIENCE, env!("CARGO_BIN_EXE_tailtrace")])
        .args(words.split(' '))
        .env("XDG_CACHE_HOME", copied.at("caches"))
        .current_dir(copied.folder.path());
    command
}
