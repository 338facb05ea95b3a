//! The check by perf can fail: with one thing wrong in the trace it does not find the scenario's instructions.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod perf;

use std::path::{Path, PathBuf};

use tailtrace_tracegen::packet::{Walk, Walked};
use tailtrace_tracegen::scenario::make;

/// A change of the AUX bytes that begin at offset `.1` of the file.
type Mutation = fn(&mut [u8], usize);

fn fixture(scenario: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios");
    root.join(scenario).with_extension("scenario")
}

/// Does perf find the instructions of the scenario after `mutation`?
fn verifies(folder: &Path, scenario: &Path, mutation: Option<Mutation>) -> bool {
    let executed = make(scenario, folder).unwrap();
    let path = folder.join("perf.data/data");
    let mut bytes = std::fs::read(&path).unwrap();
    let aux = first_psb(&bytes);
    if let Some(mutation) = mutation {
        mutation(&mut bytes, aux);
    }
    std::fs::write(&path, bytes).unwrap();
    let options = ["--itrace=i0nse", "-F", "event,ip"];
    let script = perf::script(&folder.join("perf.data"), &folder.join("symfs"), &options);
    let found = script.lines.iter().filter(|line| line.contains("instructions"));
    let found: Vec<u64> =
        found.map(|line| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap()).collect();
    let expected: Vec<u64> = executed.instructions(0).iter().map(|retired| retired.ip).collect();
    script.errors.is_empty() && found == expected
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
    if !perf::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(verifies(folder.path(), &fixture("page_fault"), None));
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
        let folder = tempfile::tempdir().unwrap();
        assert!(!verifies(folder.path(), &fixture("page_fault"), Some(mutation)), "{what} was not noticed");
    }
}

#[test]
fn verification_fails_where_a_rule_of_the_encoder_is_broken() {
    if !perf::is_installed() {
        return;
    }
    let text = std::fs::read_to_string(fixture("interrupt_timer")).unwrap();
    let verified = |rule: &str| {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("broken.scenario");
        // Many PSBs: calls before one return behind it.
        std::fs::write(&scenario, format!("machine\n  psb 80\n{rule}\n{text}")).unwrap();
        verifies(folder.path(), &scenario, None)
    };
    assert!(verified(""));
    for rule in ["tnt-order", "ip-compression", "returns-behind-psb"] {
        assert!(!verified(&format!("  breaks {rule}\n")), "{rule} was not noticed");
    }
}
