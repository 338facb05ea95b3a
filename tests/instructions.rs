//! `dump --insns` against what others say was executed: the emulator's log, perf, libipt's instruction decoder.

use std::path::Path;

use crate::captures::{Capture, bundled, corpus, decompressed, emulated, large_emulated, of_corpus};

fn dump(capture: &Capture, arguments: &[&str]) -> Vec<u64> {
    let output = capture.tailtrace("dump", &[&["--insns"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    addresses(&output.stdout)
}

fn addresses(text: &[u8]) -> Vec<u64> {
    let text = std::str::from_utf8(text).expect("addresses are ASCII");
    text.lines().map(|line| u64::from_str_radix(line, 16).expect("one address per line")).collect()
}

fn expected(path: &Path) -> Vec<u64> {
    addresses(&decompressed(path))
}

/// The emulator's log: addresses as little-endian u64.
fn log(capture: &Capture, cpu: u32) -> Vec<u64> {
    let bytes = decompressed(&capture.root.join(format!("truth{cpu}.bin.zst")));
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes"))).collect()
}

#[track_caller]
fn assert_same(found: &[u64], expected: &[u64], what: &str) {
    if let Some(index) = found.iter().zip(expected).position(|(a, b)| a != b) {
        panic!("{what}: instruction {index} is {:#x}, expected {:#x}", found[index], expected[index]);
    }
    assert_eq!(found.len(), expected.len(), "{what}: number of instructions");
}

#[test]
fn bundled_emulated_captures_equal_the_log() {
    for name in ["fault", "preempt", "noise"] {
        let capture = emulated(name);
        for cpu in 0..2 {
            let found = dump(&capture, &["--cpu", &cpu.to_string()]);
            assert_same(&found, &log(&capture, cpu), &format!("{name}, CPU {cpu}"));
        }
    }
}

#[test]
fn large_emulated_captures_equal_the_log() {
    for name in ["spsc_k32_small", "spsc_k8_150ms"] {
        let Some(capture) = large_emulated(name) else { return };
        for cpu in 0..2 {
            let found = dump(&capture, &["--cpu", &cpu.to_string()]);
            assert_same(&found, &log(&capture, cpu), &format!("{name}, CPU {cpu}"));
        }
    }
}

/// A CPU's trace is cut where several threads count.
#[test]
fn threads_count_what_the_log_has() {
    let capture = emulated("noise");
    let logged = [0, 1].map(|cpu| log(&capture, cpu).len());
    let logged = format!("0\t{}\n1\t{}\n", logged[0], logged[1]);
    for threads in ["1", "2", "3"] {
        let output = capture.tailtrace("dump", &["--count", "-j", threads]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), logged, "{threads} threads");
    }
}

/// libipt and LLDB say how many, and where each thread ended; perf runs three instructions further in each.
#[test]
fn two_threads_on_hardware() {
    let capture = bundled("multicore");
    for (tid, count, last) in [("3497496", 19521, 0x40_0ba7), ("3497497", 61825, 0x40_0bd7)] {
        let found = dump(&capture, &["--tid", tid]);
        assert_eq!((found.len(), found.last().copied()), (count, Some(last)), "thread {tid}");
    }
}

#[test]
fn a_capture_without_time() {
    let capture = bundled("single");
    assert_same(&dump(&capture, &[]), &expected(&capture.root.join("expected/insns.txt.gz")), "single");
}

/// perf and libipt agree on these; both `arcus` captures need the recovery after an empty enabled region.
#[test]
fn corpus_equals_what_other_decoders_say() {
    let Some(folder) = corpus() else { return };
    for name in ["hase/loopy-20180404T162955", "xdc/unzip", "arcus/ovf-01-poc", "arcus/ovf-01-ben"] {
        let capture = of_corpus(&folder, name);
        assert_same(&dump(&capture, &[]), &expected(&capture.root.join("expected/insns.txt.gz")), name);
    }
}

/// Where code is missing perf goes on at the next TIP and libipt at the next PSB: what libipt's own instruction
/// decoder says of these is the aim at least, perf's count the most.
#[test]
fn corpus_with_missing_code_yields_what_can_be_known() {
    let Some(folder) = corpus() else { return };
    for (name, at_least, at_most) in [("lldb/multifile", 45, 63), ("xdc/dyn_test", 2918, 2942)] {
        let found = dump(&of_corpus(&folder, name), &[]);
        assert!((at_least..=at_most).contains(&found.len()), "{name}: {}", found.len());
    }
}
