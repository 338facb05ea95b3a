//! Emulated captures, unpacked into a folder that goes away with the test.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// An unpacked capture.
pub(crate) struct Unpacked {
    folder: tempfile::TempDir,
    name: String,
}

impl Unpacked {
    /// The folder that holds `perf.data` and `intervals.csv`.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// The packed capture, where there is one: in `TAILTRACE_EMULATED`, beside the workspace, or among its fixtures.
pub(crate) fn archive(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        std::env::var_os("TAILTRACE_EMULATED").map(PathBuf::from),
        Some(root.join("../shared/emulated-pt/captures")),
        Some(root.join("fixtures/captures")),
    ];
    let file = format!("{name}.tar.zst");
    let found = folders.into_iter().flatten().map(|folder| folder.join(&file)).find(|path| path.exists());
    if found.is_none() {
        left_out(&format!("no {file} (set TAILTRACE_EMULATED)"));
    }
    found
}

/// Says on the terminal, which no passing test does else, what the test that runs does without. `scripts/test` repeats it last.
fn left_out(what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "left out: {test}: {what}");
}

/// Unpacks a capture, its binaries left out.
pub(crate) fn unpack(name: &str) -> Option<Unpacked> {
    let file = std::fs::File::open(archive(name)?).expect("the capture opens");
    let folder = tempfile::tempdir().expect("a folder");
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("zstd"));
    for entry in archive.entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a name").to_string_lossy().into_owned();
        if !path.contains("symfs") && !path.contains("/truth0") && !path.contains("/truth1") {
            entry.unpack_in(folder.path()).expect("unpacked");
        }
    }
    Some(Unpacked { folder, name: name.to_owned() })
}
