//! A small perf.data reader for these tests alone: AUXTRACE payloads, mappings, switches, and code from files.
//!
//! Independent of the workspace's own reader and symbol crates, so that the decoder is tested by itself.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part")]

mod code;
mod container;

pub use code::FileCode;
pub use container::Capture;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// A folder of captures, from an environment variable or beside the workspace; says so where it is absent.
fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(default);
    let folder = std::env::var_os(variable).map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    left_out(&format!("no {} (set {variable})", folder.display()));
    None
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// A capture of the real corpus.
pub fn corpus(item: &str) -> Option<PathBuf> {
    folder("TAILTRACE_CORPUS", "corpus").map(|folder| folder.join(item))
}

/// An emulated capture, unpacked into the build's temporary folder when first requested.
pub fn emulated(name: &str) -> Option<PathBuf> {
    let archives = folder("TAILTRACE_EMULATED", "emulated-pt/captures")?;
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulated").join(name);
    if !into.join("unpacked").is_file() {
        unpack(&archives.join(format!("{name}.tar.zst")), &into)?;
    }
    Some(into.join(name))
}

fn unpack(archive: &Path, into: &Path) -> Option<()> {
    // Two test processes may come here at once: each unpacks for itself, the first rename wins.
    let own = into.with_extension(std::process::id().to_string());
    let file =
        std::fs::File::open(archive).map_err(|_| left_out(&format!("no {}", archive.display()))).ok()?;
    let decoder = zstd::stream::read::Decoder::new(file).expect("a zstd archive");
    tar::Archive::new(decoder).unpack(&own).expect("an archive");
    std::fs::write(own.join("unpacked"), []).expect("a writable folder");
    if std::fs::rename(&own, into).is_err() {
        std::fs::remove_dir_all(&own).ok();
    }
    Some(())
}

/// The addresses in an `insns.txt.gz`: one in hexadecimal per line.
pub fn expected_addresses(item: &Path) -> Vec<u64> {
    let file = std::fs::File::open(item.join("expected/insns.txt.gz")).expect("the expected list");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip text");
    text.lines()
        .map(|line| u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).expect("hexadecimal"))
        .collect()
}

/// The addresses in a `truth<cpu>.bin.zst`.
pub fn truth(capture: &Path, cpu: u32) -> Vec<u64> {
    let file = std::fs::File::open(capture.join(format!("truth{cpu}.bin.zst"))).expect("the truth");
    let bytes = zstd::stream::decode_all(file).expect("zstd");
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes"))).collect()
}
