//! The capture that lies at the output before perf runs: whether perf replaced it, and what becomes of its machine file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::output::write_file;
use anyhow::{Context as _, Result};
use perfdata::Machine;

/// What lies at a capture's place; of a directory its `data`, too, which perf writes last.
#[derive(PartialEq, Eq)]
pub(crate) struct Capture {
    itself: Option<Identity>,
    data: Option<Identity>,
}

/// A file, and its state.
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    is_file: bool,
}

impl Identity {
    fn at(path: &Path) -> Option<Identity> {
        let metadata: Metadata = fs::metadata(path).ok()?;
        Some(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            is_file: metadata.is_file(),
        })
    }
}

impl Capture {
    /// What lies at `output` now.
    pub(crate) fn at(output: &Path) -> Capture {
        Capture { itself: Identity::at(output), data: Identity::at(&output.join("data")) }
    }

    /// Moves the machine file of this capture, which lay at `output`, to where perf moved the capture: it renames what is there
    /// already to `.old`. In a directory the machine file went along.
    pub(crate) fn keep_machine(&self, output: &Path) {
        let moved = with_suffix(output, ".old");
        let is_file = self.itself.as_ref().is_some_and(|itself| itself.is_file);
        if !is_file || Capture::at(&moved) != *self {
            return;
        }
        let machine = Machine::place(&moved);
        if fs::rename(with_suffix(output, ".machine.json"), &machine).is_err() {
            // It had none: one that lies there belongs to the capture that perf deleted. Mostly there is none either.
            let _ = fs::remove_file(machine);
        }
    }
}

/// The machine file of the capture that perf deletes to rename the older one there. perf deletes no directory that holds a file
/// which it does not know (`rm_rf_perf_data`), and then does not record: the file must be out of the way while it runs.
pub(crate) struct Oldest {
    cleared: Option<Cleared>,
}

/// What was taken away, and from what.
struct Cleared {
    directory: PathBuf,
    capture: Capture,
    machine: PathBuf,
    bytes: Vec<u8>,
}

impl Oldest {
    /// Takes it away, where a capture at `output` will be renamed.
    pub(crate) fn clear(output: &Path) -> Result<Oldest> {
        let directory = with_suffix(output, ".old");
        let machine = Machine::place(&directory);
        if !output.exists() || !directory.is_dir() || !machine.exists() {
            return Ok(Oldest { cleared: None });
        }
        let what = || format!("cannot move {} out of perf's way", machine.display());
        let bytes = fs::read(&machine).with_context(what)?;
        fs::remove_file(&machine).with_context(what)?;
        let capture = Capture::at(&directory);
        Ok(Oldest { cleared: Some(Cleared { directory, capture, machine, bytes }) })
    }

    /// Puts it back where perf left the capture alone.
    pub(crate) fn put_back(self) -> Result<()> {
        let Some(Cleared { directory, capture, machine, bytes }) = self.cleared else { return Ok(()) };
        if Capture::at(&directory) != capture {
            return Ok(());
        }
        write_file(&machine, &bytes).with_context(|| format!("cannot put {} back", machine.display()))
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
