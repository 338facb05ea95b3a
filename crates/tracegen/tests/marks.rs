//! `tailtrace.h` in real programs: they compile in every dialect of C and C++, and their interval files hold what they
//! marked, or count it as lost.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "marks/interval_file.rs"]
mod interval_file;
#[path = "marks/layouts.rs"]
mod layouts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use interval_file::{IntervalFile, Mark, read};

/// A compiler with its options.
type Compiler = (&'static str, &'static [&'static str]);

const COMPILERS: [Compiler; 3] = [
    ("gcc", &["-std=c99"]),
    ("g++", &["-x", "c++", "-std=c++11"]),
    ("clang++", &["-x", "c++", "-std=c++20"]),
];

/// For programs that need GNU's C library.
const GNU: Compiler = ("gcc", &["-std=gnu11"]);

const C: [&str; 4] = ["c99", "c11", "c17", "c2x"];
const CPP: [&str; 5] = ["c++11", "c++14", "c++17", "c++20", "c++2b"];

/// Reasons of losses, as `tailtrace.h` numbers them.
const FULL: usize = 1;
const WITHIN: usize = 2;
const UNWRITTEN: usize = 4;
const UNREADABLE: usize = 5;
const FORKED: usize = 6;
const LATE: usize = 7;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles `sources` with warnings as errors.
fn compile(compiler: (&str, &[&str]), sources: &[PathBuf], program: &Path) {
    let (name, options) = compiler;
    let mut command = Command::new(name);
    command.args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(options);
    command.arg("-I").arg(root().join("crates/marks/include")).args(sources);
    let output = command.args(["-x", "none", "-lpthread", "-lm", "-ldl", "-o"]).arg(program).output();
    let output = output.unwrap_or_else(|error| panic!("{name}, of scripts/setup test: {error}"));
    assert!(output.status.success(), "{name} {options:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/marks").join(name)
}

/// Compiles one of the programs of `tests/marks` into `folder`.
fn program(compiler: Compiler, name: &str, folder: &Path) -> PathBuf {
    let program = folder.join(name);
    compile(compiler, &[own(name).with_extension("c")], &program);
    program
}

/// Runs a program that writes `file`, and returns what it printed.
fn run(program: &Path, file: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).arg(file).args(arguments).output().unwrap();
    printed(program, &output)
}

fn printed(program: &Path, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {}: {errors}", program.display(), output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The number after `name` in what a program printed.
fn number(printed: &str, name: &str) -> Option<u64> {
    printed.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Every mark that was made is in the file or counted as lost; the counts among the marks are those of the head.
fn check_sums(read: &IntervalFile, made: u64) {
    assert_eq!(read.totals[0], read.marks.len() as u64);
    assert_eq!(read.totals.iter().sum::<u64>(), made, "{:?}", read.totals);
    assert!(read.closed);
    let noted = [FULL, WITHIN, UNREADABLE].map(|reason| read.totals[reason]);
    assert_eq!(read.noted, noted.iter().sum::<u64>());
}

#[test]
fn the_spsc_exercise_marks_every_packet() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("fixtures/programs/spsc.c");
    for (number, compiler) in COMPILERS.into_iter().enumerate() {
        let program = folder.path().join(format!("spsc{number}"));
        compile(compiler, std::slice::from_ref(&source), &program);
        let file = folder.path().join("spsc.marks");
        let mut command = Command::new(&program);
        let output = command.args(["3000", "10", "100000"]).env("TAILTRACE_FILE", &file).output().unwrap();
        assert!(output.status.success());
        check_table(&String::from_utf8(output.stdout).unwrap());
        check_packets(&read(&file), 3000);
    }
}

/// The lines of the exercise, word by word.
fn check_table(text: &str) {
    let blanked = text.split([' ', '\n']).map(|word| {
        let number = word.trim_end_matches(',');
        if number.parse::<f64>().is_ok() { word.replace(number, "#") } else { word.to_owned() }
    });
    let expected = "Avg lat = #, Avg lat w/o outliers = #, lowest lat = #, highest lat = #, outliers = # \
                    Stdev = #, stdev w/o outliers = # ";
    assert_eq!(blanked.collect::<Vec<_>>().join(" "), expected);
}

fn check_packets(read: &IntervalFile, packets: u64) {
    check_sums(read, 3 * packets);
    let mut times: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    let mut last_of: BTreeMap<u64, u64> = BTreeMap::new();
    for mark in &read.marks {
        assert_eq!(mark.label, "packet");
        let twice = times.insert((mark.kind, mark.key.unwrap()), mark.at);
        assert_eq!(twice, None, "{mark:?}");
        let last = last_of.insert(mark.tid, mark.at).unwrap_or(0);
        assert!(last <= mark.at, "each thread's times rise: {mark:?}");
    }
    assert_eq!(last_of.len(), 2, "producer and consumer");
    assert_eq!(times.len() as u64, 3 * packets);
    for key in 0..packets {
        let [begin, publish, end] = ["begin", "publish", "end"].map(|kind| times[&(kind, key)]);
        assert!(begin < publish && begin < end, "packet {key}: {begin} {publish} {end}");
    }
    let (first, last) = (times.values().min().unwrap(), times.values().max().unwrap());
    for clock in ["monotonic", "monotonic-raw", "realtime"] {
        let pairs = &read.pairs[clock];
        assert!(pairs.first().unwrap().0 < *first && *last < pairs.last().unwrap().0, "{clock}");
        assert!(pairs.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "{clock}: {pairs:?}");
    }
}

/// Both compilers, every standard: two files of one program share one interval file.
#[test]
fn every_dialect_compiles_and_marks() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("two"), folder.path().join("two.marks"));
    let sources = [own("first.c"), own("second.c")];
    for (compilers, language, standards) in
        [(["gcc", "clang"], "c", C.as_slice()), (["g++", "clang++"], "c++", CPP.as_slice())]
    {
        for (compiler, standard) in compilers.iter().flat_map(|one| standards.iter().map(move |s| (one, s))) {
            let options = ["-x", language, &format!("-std={standard}")];
            compile((compiler, &options), &sources, &program);
            assert_eq!(run(&program, &file, &[]), "", "{compiler} {standard}");
            check_every_kind(read(&file));
        }
    }
}

/// What `first.c` and `second.c` mark.
fn check_every_kind(mut read: IntervalFile) {
    check_sums(&read, 10);
    // Each thread writes when it likes; the time says the order.
    read.marks.sort_by_key(|mark| mark.at);
    let fields = |mark: &Mark| {
        let Mark { kind, label, key, name, value, .. } = mark.clone();
        (kind, label, key, name, value)
    };
    let found: Vec<_> = read.marks.iter().map(fields).collect();
    let order = "a, \"quoted\"\nlabel";
    let expected = [
        ("begin", order, Some(7), "", None),
        ("stage", order, Some(7), "parse", None),
        ("counter", order, Some(7), "bytes", Some(-512)),
        ("begin", "inner", None, "", None),
        ("end", "inner", None, "", None),
        ("publish", order, Some(7), "", None),
        ("run", order, Some(7), "", None),
        ("await", order, Some(7), "", None),
        ("ready", order, Some(7), "", None),
        ("end", order, Some(7), "", None),
    ];
    let expected =
        expected.map(|(kind, label, key, name, value)| (kind, label.to_owned(), key, name.to_owned(), value));
    assert_eq!(found, expected);
    assert_ne!(read.marks[0].tid, read.marks[9].tid);
}

#[test]
fn a_crash_loses_only_what_was_just_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("crash"), folder.path().join("crash.marks"));
    compile(COMPILERS[0], &[own("crash.c")], &program);
    assert!(!Command::new(&program).arg(&file).status().unwrap().success());
    let read = read(&file);
    let kept = read.marks.iter().filter(|mark| mark.label == "work").count();
    assert_eq!(kept, 2000);
    assert_eq!((read.closed, read.totals[0]), (false, 2000));
    assert!(read.pairs.values().all(|pairs| pairs.len() >= 2), "clock pairs stand on both sides");
}

/// A signal after every instruction of a mark, from the thread's first one on, which makes its buffer.
#[test]
fn a_handler_may_interrupt_a_mark_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("step.marks");
    for compiler in [GNU, ("gcc", &["-std=gnu11", "-O0"]), ("clang", &["-std=gnu11"])] {
        let program = program(compiler, "step", folder.path());
        let printed = run(&program, &file, &[]);
        let read = read(&file);
        check_sums(&read, number(&printed, "made").unwrap());
        let outer = read.marks.iter().filter(|mark| mark.label == "step").count();
        assert_eq!(outer, 300, "{compiler:?}: what the handler interrupts is never dropped");
        assert!(read.totals[WITHIN] > 10_000 && read.totals[FULL] == 0, "{:?}", read.totals);
    }
}

/// The branches of an emulated PTWRITE, by the CPU's own carry flag at each.
#[test]
fn branches_spell_the_marks() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in [GNU, ("gcc", &["-std=gnu11", "-O0"]), ("clang", &["-std=gnu11", "-fPIE", "-pie"])] {
        let program = program(compiler, "spelled", folder.path());
        let printed = printed(&program, &Command::new(&program).output().unwrap());
        let marks: Vec<[u64; 3]> = printed
            .lines()
            .map(|line| {
                let numbers = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap());
                numbers.collect::<Vec<_>>().try_into().unwrap()
            })
            .collect();
        assert_eq!(marks.len(), 6, "{printed}");
        let tags = [0xb, 0xe].into_iter().cycle();
        for (tag, [label, key, payload]) in tags.zip(marks) {
            let expected = tag << 60 | (label & 0xf_ffff) << 40 | key & 0xff_ffff_ffff;
            assert_eq!(payload, expected, "{compiler:?}: {payload:x}, not {expected:x}");
        }
    }
}

/// 32 threads under a storm of signals, by each sanitizer.
#[test]
fn thirty_two_threads_and_a_storm_of_signals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.marks");
    let compilers: [Compiler; 4] = [
        GNU,
        ("clang", &["-std=gnu11"]),
        ("gcc", &["-std=gnu11", "-g", "-fsanitize=thread"]),
        ("gcc", &["-std=gnu11", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
    ];
    for compiler in compilers {
        let program = program(compiler, "load", folder.path());
        for keys in ["keyed", "nested"] {
            let printed = run(&program, &file, &["32", "3000", "20", "storm", keys]);
            check_sums(&read(&file), number(&printed, "made").unwrap());
        }
    }
}

/// A buffer of 64 marks is full all the time.
#[test]
fn losses_of_a_full_buffer_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(("gcc", &["-std=gnu11", "-DTAILTRACE_SLOTS=64u"]), "load", folder.path());
    let file = folder.path().join("load.marks");
    let printed = run(&program, &file, &["4", "100000", "0", "storm", "nested"]);
    let read = read(&file);
    check_sums(&read, number(&printed, "made").unwrap());
    assert!(read.totals[FULL] > 1000, "{:?}", read.totals);
}

#[test]
fn fork_exec_and_ends_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (file, childs) = (folder.path().join("a.marks"), folder.path().join("b.marks"));
    for compiler in
        [GNU, ("gcc", &["-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])]
    {
        let program = program(compiler, "lives", folder.path());
        run(&program, &file, &[childs.to_str().unwrap()]);
        let parent = read(&file);
        check_sums(&parent, 202 + 1000 + 6);
        assert_eq!((parent.totals[FORKED], parent.totals[LATE]), (1000, 6));
        let threads = parent.marks.chunk_by(|one, next| one.tid == next.tid).count();
        assert!(threads >= 100, "{threads}: each of the threads is named");
        let child = read(&childs);
        check_sums(&child, 1);
        assert_eq!(child.marks[0].label, "child");
        assert_ne!(child.marks[0].pid, parent.marks[0].pid);
    }
}

#[test]
fn what_a_full_disk_loses_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "disk_full", folder.path());
    let file = folder.path().join("full.marks");
    let printed = run(&program, &file, &[]);
    let read = read(&file);
    check_sums(&read, number(&printed, "made").unwrap());
    assert!(read.totals[UNWRITTEN] >= 5000, "{:?}", read.totals);
    assert!(read.marks.len() >= 4000, "before and after");
    let too_large = 27; // EFBIG
    assert_eq!(number(&printed, "errno"), Some(too_large));
}

#[test]
fn a_file_that_cannot_be_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "first_error", folder.path());
    let opened = |path: &str| number(&run(&program, Path::new(path), &[]), "open");
    assert_eq!(opened("/nonexistent/x.marks"), Some(2), "ENOENT");
    assert_eq!(opened("/proc/self/fd/1"), Some(29), "ESPIPE: the standard output is a pipe");
    assert_eq!(opened("/dev/full"), Some(28), "ENOSPC");
    assert_eq!(opened("/dev/null"), Some(0));
}

/// The writing thread blocks what can be blocked but for the C library's own signals, and leaves its creator's CPUs and class.
#[test]
fn the_writer_steps_aside() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "writer", folder.path());
    let file = folder.path().join("writer.marks");
    let ask = |arguments: &[&str], cpus: &str| {
        let mut command = Command::new(&program);
        command.arg(&file).args(arguments);
        if !cpus.is_empty() {
            command.env("TAILTRACE_WRITER_CPUS", cpus);
        }
        let printed = printed(&program, &command.output().unwrap());
        assert!(printed.contains("class 0\nName:\ttailtrace\n"), "{printed}");
        assert!(printed.contains("SigBlk:\tfffffffe7ffbfeff\n"), "all but 9, 19, 32 and 33: {printed}");
        let list = printed.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        list.trim().to_owned()
    };
    let all = ask(&[], "");
    let away = ask(&["pin"], "");
    if all == "0" {
        assert_eq!(away, "0", "there is no other");
    } else if all.starts_with('0') {
        let own = away.split([',', '-']).next().unwrap();
        assert_ne!(own, "0", "{away}");
        assert_eq!(ask(&["pin"], "0"), "0", "the variable decides");
        assert_eq!(ask(&["pin"], "7-"), away, "what is no list is ignored");
    }
}

/// What rings where `program` runs with these limits, a line each.
fn rung(program: &Path, folder: &Path, over: &str) -> String {
    let bell = folder.join("bell");
    std::fs::write(&bell, "").unwrap();
    let mut command = Command::new(program);
    command.arg(folder.join("bell.marks")).env("TAILTRACE_OVER", over).env("TAILTRACE_DOORBELL", &bell);
    printed(program, &command.output().unwrap());
    std::fs::read_to_string(&bell).unwrap()
}

/// Which intervals ring: those over the limit of their label, else over that of all.
#[test]
fn limits_of_labels() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "doorbell", folder.path());
    for (over, expected) in [
        ("10ms", &["order", "cancel", "quote"][..]),
        ("10ms,order", &["order"]),
        ("500us,order;1s,cancel;10ms", &["order", "order", "quote"]),
        ("1s;10ms,cancel", &["cancel"]),
        ("soon,order;10ms,quote", &["quote"]),
        ("", &[]),
        ("p99;p4,order;p100,cancel;px,quote", &[]),
    ] {
        let rung = rung(&program, folder.path(), over);
        let labels: Vec<&str> = rung.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(labels, expected, "{over}: {rung}");
        for line in rung.lines() {
            let [begin, end] = [0, 1].map(|part| {
                let word = line.split(' ').nth(part).unwrap().strip_prefix("0x").unwrap();
                u64::from_str_radix(word, 16).unwrap()
            });
            assert!(begin < end, "{line}");
        }
    }
}

/// What `tailtrace_end` ends rings by the writing thread, which says so: on whatever thread it ends, nested or not, and not what is fast,
/// what has no limit, or what its own thread has compared. It wakes each 2 ms; a machine that runs tests beside this lets it wait longer now
/// and then, so the middle one of 40 is measured.
#[test]
fn the_writing_thread_rings_within_two_milliseconds() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "late_doorbell", folder.path());
    let bell = folder.path().join("bell");
    assert!(Command::new("mkfifo").arg(&bell).status().unwrap().success());
    let mut command = Command::new(&program);
    let file = folder.path().join("late.marks");
    command
        .arg(&file)
        .arg(&bell)
        .env("TAILTRACE_OVER", "10ms,order;10ms,moved")
        .env("TAILTRACE_DOORBELL", &bell);
    let text = printed(&program, &command.output().unwrap());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 20 * 2 + 2, "{text}");
    assert_eq!(lines[41], "then: none");
    let mut after: Vec<u64> = Vec::new();
    for (number, line) in lines[..41].iter().enumerate() {
        let expected = ["order", "moved"][number % 2];
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[3], words[4], words.len()), ("us:", "late", 8), "{line}");
        assert_eq!(words[7], expected, "{line}");
        after.push(words[2].parse().unwrap());
    }
    after.sort_unstable();
    assert!(after[20] <= 2_200, "{after:?}");
    // The file has ends alone, of whatever kind.
    check_sums(&read(&file), 6 * 20_000 + 4 * 20 + 4 + 3 + 1 + 2 + 1 + 2);
}

/// A mark whose end compares with a limit that nothing exceeds, against one that does not and has no doorbell: programs in turn, of each
/// the middle one of 200 batches, and of nine differences the middle one.
#[test]
fn a_doorbell_costs_a_mark_two_nanoseconds_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("mark_cost");
    compile(COMPILERS[0], &[root().join("fixtures/programs/mark_cost.c")], &program);
    let bell = folder.path().join("bell");
    assert!(Command::new("mkfifo").arg(&bell).status().unwrap().success());
    // The recorder's end: without a reader there is no doorbell.
    let reader = std::fs::OpenOptions::new().read(true).write(true).open(&bell).unwrap();
    let median = |with_bell: bool| -> f64 {
        let mut command = Command::new(&program);
        command.env("TAILTRACE_FILE", folder.path().join("cost.marks"));
        if with_bell {
            command.arg("since").env("TAILTRACE_OVER", "1s,cost").env("TAILTRACE_DOORBELL", &bell);
        }
        let text = printed(&program, &command.output().unwrap());
        let after = text.split_once("median ").unwrap().1;
        after.split(' ').next().unwrap().parse().unwrap()
    };
    let mut differences: Vec<(f64, f64)> = Vec::new();
    for _ in 0..9 {
        let without = median(false);
        differences.push((median(true) - without, without));
    }
    drop(reader);
    differences.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (more, without) = differences[4];
    eprintln!("a mark takes {without:.1} ns, with a doorbell {more:+.1} ns");
    assert!(more <= 2.0, "{differences:?}");
}

/// Of 100 lengths at equal distances p90 is the 90th, within a bin: 3 % of a length. Nothing rings before it is known.
#[test]
fn a_running_percentile_as_limit() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "percentile", folder.path());
    for over in ["p90,order", "1s,cancel;p90.0"] {
        let rung = rung(&program, folder.path(), over);
        let lengths = rung.lines().map(|line| {
            let mut words = line.split(' ').map(|word| u64::from_str_radix(&word[2..], 16).unwrap_or(0));
            let (begin, end) = (words.next().unwrap(), words.next().unwrap());
            end - begin
        });
        let lengths: Vec<u64> = lengths.collect();
        let second = lengths.iter().position(|&length| length >= 1_000_000).unwrap();
        // The first part takes less than the 100 ms in which nothing is known, or little more.
        assert!(second <= 1_000, "{over}: {second} in the first part");
        let part = &lengths[second + 1..];
        assert!((600..=1_050).contains(&part.len()), "{over}: {} of 10,000", part.len());
        assert!(part.iter().all(|&length| length >= 9_900), "{over}: {:?}", part.iter().min());
    }
}

/// What was slow at the beginning counts half with each 2,000 that follow: p90 is that of the later ones.
#[test]
fn a_slow_warm_up_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "warm_up", folder.path());
    let rung = rung(&program, folder.path(), "p90,order");
    let length = |line: &str| {
        let [begin, end] =
            [0, 1].map(|part| u64::from_str_radix(&line.split(' ').nth(part).unwrap()[2..], 16).unwrap());
        end - begin
    };
    let lengths: Vec<u64> = rung.lines().map(length).collect();
    let last = lengths.iter().position(|&length| length >= 4_000_000_000).unwrap();
    let part = &lengths[last + 1..];
    assert!((600..=1_050).contains(&part.len()), "{} of 10,000", part.len());
}

/// After a stop there is one clock pair, not all that were missed; and a file has nothing of the losses of the one before.
#[test]
fn a_stop_and_a_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(GNU, "again", folder.path());
    let (first, second) = (folder.path().join("first.marks"), folder.path().join("second.marks"));
    run(&program, &first, &[second.to_str().unwrap()]);
    let file = read(&first);
    check_sums(&file, 1 + 40_000);
    assert_eq!(file.totals[LATE], 40_000);
    let pairs = &file.pairs["monotonic"];
    // At the begin, after the stop, at the end; on a busy machine another one before the stop.
    assert!((3..=4).contains(&pairs.len()), "{pairs:?}");
    let file = read(&second);
    check_sums(&file, 2);
    assert_eq!((file.noted, file.marks.len()), (0, 2));
}

/// A plugin shares the program's file where the program exports its symbols, and marks nothing or in its own file where
/// it does not. Labels that are unloaded are counted.
#[test]
fn plugins() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("plugin.so");
    compile(("gcc", &["-fPIC", "-shared"]), &[own("plugin.c")], &plugin);
    let plugin = plugin.to_str().unwrap();
    let (file, plugins) = (folder.path().join("host.marks"), folder.path().join("plugin.marks"));
    let labels = |file: &Path| {
        let mut labels: BTreeMap<String, u64> = BTreeMap::new();
        for mark in read(file).marks {
            *labels.entry(mark.label).or_default() += 1;
        }
        labels
    };
    let own_state = program(GNU, "host", folder.path());
    run(&own_state, &file, &[plugin]);
    assert_eq!(labels(&file), BTreeMap::from([("host".to_owned(), 5)]));
    run(&own_state, &file, &[plugin, plugins.to_str().unwrap()]);
    assert_eq!(labels(&file), BTreeMap::from([("host".to_owned(), 5)]));
    assert_eq!(labels(&plugins), BTreeMap::from([("plugin".to_owned(), 8)]));
    for export in ["-rdynamic", "-Wl,--export-dynamic-symbol=tailtrace_*"] {
        let options: &[&str] = &["-std=gnu11", "-fvisibility=hidden", export];
        let shared = folder.path().join("shared");
        compile(("gcc", options), &[own("host.c")], &shared);
        run(&shared, &file, &[plugin]);
        let labels = labels(&file);
        assert_eq!(labels["host"], 5);
        assert!((4..=8).contains(&labels["plugin"]), "{labels:?}");
        let read = read(&file);
        check_sums(&read, 13);
        assert_eq!(read.totals[UNREADABLE] + labels["plugin"], 8);
    }
}

/// 100 million marks of 32 threads; then pollers in a real-time class, which lose nothing while a CPU is free, and elsewhere
/// what is counted. Takes a minute and 3 GB.
#[test]
#[ignore = "scripts/test captures runs it"]
fn a_hundred_million_marks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.marks");
    let program = program(GNU, "load", folder.path());
    let sums = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        if arguments.contains(&"fifo") {
            // The pollers are pinned to the others after the file is opened.
            command.env("TAILTRACE_WRITER_CPUS", "0");
        }
        let output = command.arg(&file).args(arguments).output().unwrap();
        if output.status.code() == Some(77) {
            eprintln!("left out: a_hundred_million_marks: {arguments:?}: SCHED_FIFO is not permitted here");
            return None;
        }
        let made = number(&printed(&program, &output), "made").unwrap();
        let (totals, marks) = interval_file::totals_and_marks(&file);
        assert_eq!(marks, totals[0], "{arguments:?}");
        assert_eq!(totals.iter().sum::<u64>(), made, "{arguments:?}: {totals:?}");
        println!("{arguments:?}: {made} marks, of which {} were lost", made - totals[0]);
        Some(totals)
    };
    assert_eq!(sums(&["32", "1562500", "0"]).map(|totals| totals.iter().sum()), Some(100_000_000));
    sums(&["32", "1562500", "100", "storm"]);
    let cpus = std::thread::available_parallelism().unwrap().get();
    if cpus > 1 {
        // Some two million marks a second of each.
        let free = sums(&[&(cpus - 1).min(8).to_string(), "5000000", "3000", "fifo"]);
        assert!(free.is_none_or(|totals| totals[1..].iter().sum::<u64>() == 0), "{free:?}");
    }
    sums(&[&cpus.to_string(), "5000000", "100", "fifo-everywhere"]);
}
