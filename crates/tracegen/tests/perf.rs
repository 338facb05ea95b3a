//! Stock perf as the judge of what this crate writes, and the emulated captures as input.

#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The lines of `perf script` on `capture`; `errors` counts its complaints about the trace.
pub(crate) struct Script {
    pub(crate) lines: Vec<String>,
    pub(crate) errors: Vec<String>,
}

/// Runs `perf script` with the options given.
pub(crate) fn script(capture: &Path, symfs: &Path, options: &[&str]) -> Script {
    let mut command = Command::new("perf");
    command.arg("script").arg("-i").arg(capture).arg("--symfs").arg(symfs).args(options);
    // A home of its own: no build-id cache, no configuration.
    let output = command.env("HOME", symfs).output().expect("perf runs");
    let text =
        |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    let errors = text(output.stderr).into_iter().filter(|line| line.contains("error")).collect();
    Script { lines: text(output.stdout), errors }
}

/// Addresses of all executed instructions, in perf's order.
pub(crate) fn addresses(capture: &Path, symfs: &Path, options: &[&str]) -> Vec<u64> {
    let options = [&["--itrace=i0ns", "-F", "event,ip"], options].concat();
    let script = script(capture, symfs, &options);
    assert_eq!(script.errors, Vec::<String>::new());
    let instructions = script.lines.iter().filter(|line| line.contains("instructions"));
    let address = |line: &String| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
    instructions.map(address).collect()
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// Unpacks the emulated capture `name` into `folder`; `None` (and a word) where it is not at hand.
pub(crate) fn emulated(name: &str, folder: &Path) -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/emulated-pt/captures");
    let captures = std::env::var_os("TAILTRACE_EMULATED").map_or(default, PathBuf::from);
    let Ok(packed) = std::fs::File::open(captures.join(format!("{name}.tar.zst"))) else {
        left_out(&format!("no {name} in {} (set TAILTRACE_EMULATED)", captures.display()));
        return None;
    };
    tar::Archive::new(zstd::Decoder::new(packed).unwrap()).unpack(folder).unwrap();
    Some(folder.join(name))
}
