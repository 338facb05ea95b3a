//! The same trouble recorded twice is one story: with other lengths, threads and CPUs (a seed), other addresses (a boot), and functions
//! that a rebuilt program has elsewhere. Another trouble is another story.
//!
//! The recordings are made of one scenario, whose lines are changed; nothing of ours makes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::captures::{repository, tailtrace};
use crate::slices::assert_done;

/// What differs between two recordings.
#[derive(Clone, Copy)]
struct Recording {
    /// Lengths, IDs, names' numbers, CPUs and the TSC follow from it.
    seed: u64,
    /// Where the kernel and the program lie.
    boot: [u64; 2],
    /// Whether functions lie in another order, further apart.
    is_rebuilt: bool,
    /// Words of the scenario, and what stands there instead.
    other: &'static [(&'static str, &'static str)],
}

const FIRST: Recording =
    Recording { seed: 0, boot: [0xffff_ffff_8100_0000, 0x0040_1000], is_rebuilt: false, other: &[] };
const SECOND_BOOT: [u64; 2] = [0xffff_ffff_a720_0000, 0x55d1_c2a0_1000];

fn fixture(name: &str) -> String {
    fs::read_to_string(repository().join("fixtures/scenarios").join(name)).expect("the fixture")
}

impl Recording {
    /// The scenario: `worker` waits for a lock that `writer` holds while it computes.
    fn scenario(&self) -> String {
        let [kernel, program] = self.boot;
        let seed = self.seed;
        let longer = 3_700 * seed;
        let mut linux = fixture("linux.code").replace("0xffffffff81000000", &format!("{kernel:#x}"));
        let whole = fixture("lock_wait-waker.scenario");
        let mut text = whole.split_once("\ntruth").expect("a truth").0.to_owned();
        let mut put = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        };
        for (from, to) in self.other {
            put(from, to);
        }
        let ids = [5_000 + seed, 5_001 + 3 * seed, 5_002 + 3 * seed];
        put("  cpus 2", &format!("  cpus 2\n  base {}", (1 << 33) + 77_777 * seed));
        put("worker 100/101", &format!("worker {}/{} named worker-{seed}", ids[0], ids[1]));
        put(" 100/102", &format!(" {}/{}", ids[0], ids[2]));
        put("0x7f0000001000", &format!("{:#x}", 0x7f00_0000_1000 + 0x1_2340 * seed));
        put("132.6us", &format!("{}ns", 132_600 + longer));
        put("67.4us", &format!("{}ns", 67_400 + longer));
        put("repeat 8", &format!("repeat {}", 8 - seed % 2));
        if seed % 2 == 1 {
            for (from, to) in [("cpu 0\n", "cpu X\n"), ("cpu 1\n", "cpu 0\n"), ("cpu X\n", "cpu 1\n")] {
                put(from, to);
            }
            put("target_cpu=1", "target_cpu=0");
        }
        if self.is_rebuilt {
            linux = linux.replace("skip 8", "skip 40");
            let (front, rest) = text.split_once("  skip 16\n").expect("two parts");
            let (head, front) = front.split_once("0x401000\n").expect("the code");
            let (back, rest) = rest.split_once("\n\n").expect("the end of the code");
            text = format!("{head}0x401000\n{back}\n  skip 40\n{front}\n{rest}");
        }
        let text = text.replace("0x401000", &format!("{program:#x}"));
        text.replace("include linux.code", &linux)
    }

    /// The foremost cause's story and chain, from a bundle of the recording.
    fn story(&self) -> (String, String) {
        let root = tempfile::tempdir().expect("a folder");
        self.record(root.path());
        story_in(root.path())
    }

    fn record(&self, root: &Path) {
        fs::write(root.join("scenario"), self.scenario()).expect("written");
        tracegen::scenario::make(&root.join("scenario"), root).expect("a capture");
    }
}

fn story_in(root: &Path) -> (String, String) {
    let mut bundle = tailtrace();
    bundle.args(["bundle", "-i", "perf.data", "--symfs", "symfs", "--intervals", "intervals.csv"]);
    bundle.args(["--top", "1", "-o", "slow.tar.zst"]).current_dir(root);
    assert_done(&bundle.output().expect("tailtrace runs"));
    let rows = tailtrace().args(["fleet", "rows", "slow.tar.zst"]).current_dir(root).output();
    let rows = rows.expect("tailtrace runs");
    assert_done(&rows);
    let lines = String::from_utf8(rows.stdout).expect("text");
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let foremost = |line: &Value| line["table"] == "causes" && line["row"]["rank"] == 0;
    let row = rows.into_iter().find(foremost).expect("a cause")["row"].take();
    let text = |column: &str| row[column].as_str().expect("text").to_owned();
    (text("story"), text("chain"))
}

#[test]
fn a_workload_has_one_story_on_all_hosts_boots_and_builds() {
    let expected = "offcpu.lock: waited for futex in lock(), woken by writer, which ran held()";
    let mut found = BTreeSet::new();
    for seed in [0, 3] {
        for boot in [FIRST.boot, SECOND_BOOT] {
            for is_rebuilt in [false, true] {
                let (story, chain) = Recording { seed, boot, is_rebuilt, ..FIRST }.story();
                assert_eq!(chain, expected, "seed {seed}, boot {boot:x?}, rebuilt: {is_rebuilt}");
                found.insert(story);
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Threads of a pool are one: their numbers differ from one request to the next.
#[test]
fn numbered_threads_are_one_and_others_are_not() {
    let of = |other| Recording { other, ..FIRST }.story();
    let first = of(&[("thread writer 100/102", "thread writer 100/102 named writer-1")]);
    assert_eq!(of(&[("thread writer 100/102", "thread writer 100/102 named writer-2")]), first);
    assert_eq!(of(&[]), first);
    assert_ne!(of(&[("thread writer 100/102", "thread writer 100/102 named auditor-1")]).0, first.0);
}

#[test]
fn another_function_object_or_holder_is_another_story() {
    const OTHERS: [&[(&str, &str)]; 5] = [
        // Where it waits; what the holder did; who that is; for what.
        &[("lock: syscall", "take: syscall"), ("run to lock branches", "run to take branches")],
        &[("held: dec", "grind: dec"), ("short held", "short grind"), ("run to held", "run to grind")],
        &[("thread writer 100/102", "thread writer 100/102 named auditor")],
        &[("id=202 args=0x7f0000001000,128,2", "id=0 args=3,0x7f0000001000,2")],
        &[],
    ];
    let stories: Vec<(String, String)> = OTHERS.map(|other| Recording { other, ..FIRST }.story()).into();
    let different: BTreeSet<&String> = stories.iter().map(|(story, _)| story).collect();
    assert_eq!(different.len(), OTHERS.len(), "{stories:#?}");
}

/// The scenario's program for GNU as; its two functions have unwind tables and, once stripped, no names.
const FRONT: &str = "main: .cfi_startproc; mov $100, %ecx; 1: dec %ecx; jnz 1b; test %eax, %eax; jz 2f; syscall; test %eax, %eax; jnz main; \
                     2: IDLE; .byte 0xe9; .long main - . - 4; .cfi_endproc";
const BACK: &str = "hold: .cfi_startproc; mov $1000, %ecx; 3: dec %ecx; jnz 3b; syscall; .byte 0xe9; .long hold - . - 4; .cfi_endproc";

fn binutils(root: &Path, tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).current_dir(root).output().expect("binutils run");
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The story of the recording when its program is stripped. `idle` is what the first function does last.
fn stripped(recording: Recording, idle: &str) -> (String, String) {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    recording.record(root);
    let front = FRONT.replace("IDLE", idle);
    let code = if recording.is_rebuilt {
        format!("{BACK}\n.skip 40\n{front}\n")
    } else {
        format!("{front}\n.skip 16\n{BACK}\n")
    };
    fs::write(root.join("app.s"), format!(".globl _start\n.text\n_start:\n{code}")).expect("written");
    let program = "symfs/usr/bin/app";
    let notes = binutils(root, "readelf", &["-n", program]);
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build ID");
    binutils(root, "as", &["app.s", "-o", "app.o"]);
    let place = format!("-Ttext={:#x}", recording.boot[1]);
    let id = format!("--build-id=0x{id}");
    binutils(root, "ld", &["app.o", "-o", program, &place, &id, "--eh-frame-hdr", "-z", "separate-code"]);
    binutils(root, "strip", &[program]);
    story_in(root)
}

#[test]
fn functions_without_names_are_one_story_by_their_code() {
    let first = stripped(FIRST, "pause");
    assert!(first.1.starts_with("offcpu.lock: waited for futex in app["), "{first:?}");
    assert!(first.1.contains(" bytes, ") && !first.1.contains("+0x"), "{first:?}");
    for (seed, boot, is_rebuilt) in [(3, FIRST.boot, true), (0, SECOND_BOOT, false)] {
        assert_eq!(stripped(Recording { seed, boot, is_rebuilt, ..FIRST }, "pause"), first);
    }
    // One instruction is another, of the same length: `pause` is two bytes.
    assert_ne!(stripped(FIRST, "nop; nop").0, first.0);
}
