//! `scripts/verify-captures` can fail: with one byte of a trace changed, or one rule of the encoder broken, its two decoders, stock
//! perf and libipt's instruction decoder, do not find what was executed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod perf;

use std::path::{Path, PathBuf};
use std::process::Command;

use tailtrace_tracegen::packet::{Walk, Walked};
use tailtrace_tracegen::scenario::make;

/// A change of the AUX bytes that begin at offset `.1` of the file.
type Mutation = fn(&mut [u8], usize);

/// Which decoder found all that was executed, and no error.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    perf: bool,
    libipt: bool,
    /// What the command said of both, by its exit code.
    verified: bool,
}

const BY_BOTH: Found = Found { perf: true, libipt: true, verified: true };
const BY_NEITHER: Found = Found { perf: false, libipt: false, verified: false };

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(scenario: &str) -> PathBuf {
    root().join("fixtures/scenarios").join(scenario).with_extension("scenario")
}

/// Builds the programs of the command into `folder`.
fn build_checks(folder: &Path) {
    let built = Command::new(root().join("fixtures/emulator/check/build")).arg(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// What the command says of the capture that `scenario` makes in `folder`, after `mutation`.
fn verify(folder: &Path, checks: &Path, scenario: &Path, mutation: Option<Mutation>) -> Found {
    let executed = make(scenario, folder).unwrap();
    let addresses = executed.instructions(0).iter().flat_map(|retired| retired.ip.to_le_bytes());
    std::fs::create_dir(folder.join("log")).unwrap();
    std::fs::write(folder.join("log/instructions0.bin"), addresses.collect::<Vec<u8>>()).unwrap();
    let path = folder.join("perf.data/data");
    let mut bytes = std::fs::read(&path).unwrap();
    if let Some(mutation) = mutation {
        let aux = first_psb(&bytes);
        mutation(&mut bytes, aux);
        std::fs::write(&path, bytes).unwrap();
    }
    let mut command = Command::new(root().join("scripts/verify-captures"));
    let output = command.arg(folder).env("EMULATOR_CHECKS", checks).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    // "NAME cpu VERDICT errors:0 perf 0:12/12", below it "libipt errors:0 0:12/12"; each with its first differences.
    let (_, row) = table.split_once('\n').unwrap();
    let (perf, libipt) = row.split_once(" libipt ").unwrap_or_else(|| panic!("{table}"));
    Found { perf: found_all(perf), libipt: found_all(libipt), verified: output.status.success() }
}

/// Whether the table says of a decoder that there was no error, and as many instructions alike as there are.
fn found_all(told: &str) -> bool {
    let counts = told.split_whitespace().filter_map(|word| word.split_once(':')?.1.split_once('/'));
    let counts: Vec<(&str, &str)> = counts.collect();
    told.contains("errors:0 ") && !counts.is_empty() && counts.iter().all(|(alike, all)| alike == all)
}

fn first_psb(bytes: &[u8]) -> usize {
    bytes.windows(16).position(|window| window == [0x02, 0x82].repeat(8)).unwrap()
}

/// Place of the first packet that `wanted` accepts.
fn packet(bytes: &[u8], aux: usize, wanted: impl Fn(&[u8]) -> bool) -> usize {
    let places = Walk::new(&bytes[aux..]).filter(|&(_, _, kind)| kind != Walked::Foreign);
    let found = places.map(|(offset, length, _)| (aux + offset, length));
    found.into_iter().find(|&(at, length)| wanted(&bytes[at..at + length])).unwrap().0
}

#[test]
fn verification_fails_where_the_encoder_would_be_wrong() {
    let checks = tempfile::tempdir().unwrap();
    build_checks(checks.path());
    let found = |mutation| {
        let folder = tempfile::tempdir().unwrap();
        verify(folder.path(), checks.path(), &fixture("page_fault"), mutation)
    };
    assert_eq!(found(None), BY_BOTH);
    let mutations: [(&str, Mutation); 4] = [
        ("one branch turned round", |bytes, aux| {
            // A short TNT of six branches: bit 7 set, bit 0 clear.
            let at = packet(bytes, aux, |packet| packet.len() == 1 && packet[0] & 0x81 == 0x80);
            bytes[at] ^= 0x02;
        }),
        ("a FUP that names the next instruction", |bytes, aux| {
            let at = packet(bytes, aux, |packet| packet[0] == 0x3d);
            bytes[at + 1] += 1;
        }),
        ("a TIP compressed against nothing", |bytes, aux| {
            // Update48 where sign extension was meant, and another address.
            let at = packet(bytes, aux, |packet| packet[0] == 0x6d);
            bytes[at + 3] ^= 0x10;
        }),
        ("an IP packet that lies about its length", |bytes, aux| {
            let at = packet(bytes, aux, |packet| packet[0] == 0x71);
            bytes[at] = 0x31;
        }),
    ];
    for (what, mutation) in mutations {
        assert_eq!(found(Some(mutation)), BY_NEITHER, "{what}");
    }
}

#[test]
fn verification_fails_where_a_rule_of_the_encoder_is_broken() {
    let checks = tempfile::tempdir().unwrap();
    build_checks(checks.path());
    let text = std::fs::read_to_string(fixture("interrupt_timer")).unwrap();
    let found = |rule: &str| {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("broken.scenario");
        // Many PSBs: calls before one return after it.
        std::fs::write(&scenario, format!("machine\n  psb 80\n{rule}\n{text}")).unwrap();
        verify(&folder.path().join("capture"), checks.path(), &scenario, None)
    };
    assert_eq!(found(""), BY_BOTH);
    for rule in ["tnt-order", "ip-compression"] {
        assert_eq!(found(&format!("  breaks {rule}\n")), BY_NEITHER, "{rule}");
    }
    // libipt keeps its calls across a PSB that it merely passes; a decoder that begins there, as perf does, must not need them.
    assert_eq!(found("  breaks returns-behind-psb\n"), Found { libipt: true, ..BY_NEITHER });
}
