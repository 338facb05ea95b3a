//! Names and bytes against stock perf and the emulator's log of executed addresses.
//!
//! Map events come from `perf script`'s text here: the crate that reads perf.data is no dependency of this one. The
//! tests of captures that are not there say so; where perf is missing they fail.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::{CodeBytes, MapEvent, Mapping, Pid, Tid, Tsc};
use tailtrace_symbols::{ProcessImages, SearchPath};

/// A folder beside the workspace, or the one that `variable` names.
fn folder(variable: &str, beside: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(beside);
    let found = std::env::var_os(variable).map_or_else(default, PathBuf::from);
    if !found.is_dir() {
        left_out(&format!("no {beside} at {} (set {variable})", found.display()));
        return None;
    }
    Some(found)
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// The output of perf.
fn perf(arguments: &[&str], data: &Path) -> String {
    let output =
        Command::new("perf").arg("script").arg("-i").arg(data).args(arguments).stderr(Stdio::null()).output();
    String::from_utf8_lossy(&output.expect("perf runs").stdout).into_owned()
}

fn events(data: &Path) -> Vec<(Tsc, MapEvent)> {
    let text = perf(
        &["--ns", "--itrace=e", "--show-mmap-events", "--show-task-events", "-F", "comm,pid,tid,time,event"],
        data,
    );
    text.lines().filter_map(event).collect()
}

/// `comm 118/118 0.477: PERF_RECORD_MMAP2 118/118: [0x401000(0x184000) @ 0x1000 00:02 56 0]: r-xp /bin/busybox`
fn event(line: &str) -> Option<(Tsc, MapEvent)> {
    let (head, tail) = line.split_once("PERF_RECORD_")?;
    let (seconds, nanoseconds) = head.split_whitespace().last()?.trim_end_matches(':').split_once('.')?;
    let at = Tsc(seconds.parse::<u64>().ok()? * 1_000_000_000 + nanoseconds.parse::<u64>().ok()?);
    let (kind, rest) = tail.split_once([' ', '('])?;
    let pid_at =
        |text: &str| text.split(['/', ':', '(']).next().and_then(|pid| pid.trim().parse().ok()).map(Pid);
    let event = match kind.trim_end_matches(':') {
        "MMAP" | "MMAP2" => MapEvent::Map(mapping(rest)?),
        "FORK" => {
            let (child, parent) = rest.split_once("):(")?;
            let (child, parent) = (pid_at(child)?, pid_at(parent)?);
            if child == parent {
                return None;
            }
            MapEvent::Fork { parent, child }
        }
        // Of a process with threads the first one is the last to end in these captures.
        "EXIT" => {
            let (pid, tid) = (pid_at(rest)?, pid_at(rest.split_once(':')?.1.split(')').next()?)?);
            return (pid == tid).then_some((at, MapEvent::Exit { pid, tid: Tid(tid.0) }));
        }
        "COMM" if rest.starts_with("exec:") => MapEvent::Exec { pid: pid_at(rest.rsplit_once(':')?.1)? },
        _ => return None,
    };
    Some((at, event))
}

fn mapping(text: &str) -> Option<Mapping> {
    let hex = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    let pid = Pid(text.split('/').next()?.trim().parse().ok()?);
    let (start, rest) = text.split_once('[')?.1.split_once('(')?;
    let (size, rest) = rest.split_once(") @ ")?;
    let (offset, rest) = rest.split_once([' ', ']'])?;
    let (_, path) =
        rest.rsplit_once(": ").map_or(("", rest), |(_, named)| named.split_once(' ').unwrap_or(("", "")));
    let start = hex(start)?;
    Some(Mapping {
        pid,
        range: start..start + hex(size)?,
        file_offset: hex(offset)?,
        path: path.to_owned(),
        build_id: None,
        inode: None,
    })
}

/// Compares the name of each sampled instruction with perf's; returns how many were compared.
fn compare_names(data: &Path, search: SearchPath, itrace: &str) -> usize {
    let images = ProcessImages::new(search.clone(), events(data), Vec::new());
    let symfs = search.symfs.clone().unwrap_or_default();
    let symfs = format!("--symfs={}", symfs.display());
    let ask = |fields| perf(&[&symfs, "--ns", itrace, "-F", fields], data);
    let mut text = ask("pid,tid,time,ip,sym,symoff,dso");
    if text.is_empty() {
        // A trace without time.
        text = ask("pid,tid,ip,sym,symoff,dso");
    }
    let aliases =
        search.kcore_dir.map(|dir| std::fs::read_to_string(dir.join("kallsyms")).expect("kallsyms"));
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in text.lines() {
        let Some((pid, at, ip, theirs)) = sample(line) else { continue };
        let location = images.resolve(pid, ip, at);
        // A function of a stripped file is known by its unwind table, which perf does not name.
        let file = location.dso.rsplit('/').next().unwrap_or_default();
        let named = location.symbol.filter(|name| !name.starts_with(&format!("{file}+0x")));
        let symbol = named.map_or("[unknown]".to_owned(), |name| format!("{name}+{:#x}", location.offset));
        let ours = format!("{symbol} ({})", location.dso);
        compared += 1;
        // perf 6.1 miscounts the stubs of indirect functions; `objdump` is the word there (`against_binutils.rs`).
        if ours != theirs
            && !is_alias(aliases.as_deref(), theirs, &ours)
            && !format!("{theirs}{ours}").contains("@plt")
        {
            wrong.push(format!("{pid} {ip:x}: perf {theirs}, we {ours}"));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    compared
}

/// Whether both names stand at one address of kallsyms, at the same distance. perf prefers whichever is listed last
/// there (it gives sizes before it weeds out duplicates), we the better name.
fn is_alias(kallsyms: Option<&str>, theirs: &str, ours: &str) -> bool {
    let address_of = |place: &str| {
        let (name, offset) = place.split_once('+')?;
        let line = kallsyms?.lines().find(|line| line.split(' ').nth(2) == Some(name))?;
        Some((line.split(' ').next()?.to_owned(), offset.to_owned()))
    };
    address_of(theirs).is_some_and(|theirs| Some(theirs) == address_of(ours))
}

/// `117/117 0.476028123: ffffffff810d3c12 try_to_wake_up+0x2d2 ([kernel.kallsyms])`
fn sample(line: &str) -> Option<(Pid, Tsc, u64, &str)> {
    let (thread, rest) = line.trim().split_once(|c: char| c.is_whitespace())?;
    let pid = Pid(thread.split('/').next()?.parse().ok()?);
    let mut rest = rest.trim();
    let mut at = Tsc(u64::MAX);
    if let Some((time, tail)) = rest.split_once(": ") {
        let (seconds, nanoseconds) = time.split_once('.')?;
        at = Tsc(seconds.parse::<u64>().ok()? * 1_000_000_000 + nanoseconds.parse::<u64>().ok()?);
        rest = tail.trim();
    }
    let (ip, name) = rest.split_once(' ')?;
    Some((pid, at, u64::from_str_radix(ip, 16).ok()?, name.trim()))
}

fn capture(name: &str) -> Option<PathBuf> {
    let packed = folder("TAILTRACE_EMULATED", "emulated-pt/captures")?;
    let unpacked = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let dir = unpacked.join(name);
    if !dir.join("perf.data").is_dir() {
        let partial = tempfile::tempdir_in(&unpacked).expect("a folder");
        let file = std::fs::File::open(packed.join(format!("{name}.tar.zst"))).expect("the capture");
        let unzipped = zstd::stream::read::Decoder::new(file).expect("zstd");
        tar::Archive::new(unzipped).unpack(partial.path()).expect("a tar file");
        // Another test may have been faster: then its folder serves.
        let _ = std::fs::rename(partial.path().join(name), &dir);
    }
    Some(dir)
}

fn search_of_capture(dir: &Path) -> SearchPath {
    SearchPath {
        symfs: Some(dir.join("symfs")),
        kcore_dir: Some(dir.join("perf.data/kcore_dir")),
        ..SearchPath::default()
    }
}

#[test]
fn names_in_an_emulated_capture_equal_perfs() {
    let Some(dir) = capture("fault") else { return };
    let compared = compare_names(&dir.join("perf.data"), search_of_capture(&dir), "--itrace=i200ns");
    assert!(compared > 10_000, "{compared} samples only");
}

#[test]
fn names_in_real_captures_equal_perfs() {
    let Some(corpus) = folder("TAILTRACE_CORPUS", "corpus") else { return };
    let items = ["arcus/ovf-01-ben", "arcus/hello-wrongimg", "xdc/unzip", "lldb/multifile", "lldb/multicore"];
    for item in items.into_iter().chain(["hase/loopy-20180404T162955"]) {
        let dir = corpus.join(item);
        let search = SearchPath { symfs: Some(dir.join("root")), ..SearchPath::default() };
        // The copy without the guest's bit, where there is one: without it perf looks for a guest's files.
        let data =
            ["perf.nr0.data", "perf.data"].map(|name| dir.join(name)).into_iter().find(|path| path.is_file());
        let compared = compare_names(&data.expect("a perf.data"), search, "--itrace=i3i");
        assert_ne!(compared, 0, "{item}");
        println!("{item}: {compared} names");
    }
}

#[test]
fn every_executed_address_has_bytes_and_a_name() {
    let captures =
        [("fault", "fault"), ("noise", "noise"), ("preempt", "preempt"), ("spsc_k32_small", "spsc")];
    for (name, program) in captures {
        let Some(dir) = capture(name) else { return };
        let events = events(&dir.join("perf.data"));
        let path = format!("/bin/{program}");
        let mapped = events.iter().rev().find_map(|(at, event)| match event {
            MapEvent::Map(mapping) if mapping.path == path => Some((mapping.pid, *at)),
            _ => None,
        });
        let (program, at) = mapped.expect("the traced program");
        let images = ProcessImages::new(search_of_capture(&dir), events, Vec::new());
        for cpu in 0..2 {
            let file = std::fs::File::open(dir.join(format!("truth{cpu}.bin.zst"))).expect("the log");
            let log = zstd::stream::decode_all(file).expect("zstd");
            let (words, _) = log.as_chunks::<8>();
            let (mut without_bytes, mut without_name) = (0, 0);
            // One in seven: 77 million would take the better part of a minute.
            for address in words.iter().step_by(7).map(|word| u64::from_le_bytes(*word)) {
                without_bytes += usize::from(images.read(program, address, at, &mut [0; 15]) == 0);
                without_name += usize::from(images.function_at(program, address, at).is_none());
            }
            assert_eq!(
                (without_bytes, without_name),
                (0, 0),
                "{name}, CPU {cpu}, of {} instructions",
                words.len()
            );
        }
        assert!(images.diagnostics().iter().all(|said| said.severity == model::Severity::Note), "{name}");
    }
}
