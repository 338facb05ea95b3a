//! The capture that lies at the output before perf runs: whether perf replaced it, and what becomes of its companions.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::output::{write_file, write_private_file};
use analysis::request::PTWRITE;
use anyhow::{Context as _, Result};
use perfdata::{Machine, companion};
use symbols::code_copies;

/// What record writes beside a capture.
const COMPANIONS: [&str; 4] = [Machine::NAME, intervals::CLOCKS, PTWRITE, code_copies::NAME];

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

    /// Moves the companions of this capture, which lay at `output`, to where perf moved the capture: it renames what is there
    /// already to `.old`. In a directory they went along.
    pub(crate) fn keep_companions(&self, output: &Path) {
        let moved = with_suffix(output, ".old");
        let is_file = self.itself.as_ref().is_some_and(|itself| itself.is_file);
        if !is_file || Capture::at(&moved) != *self {
            return;
        }
        for (name, kept) in COMPANIONS.into_iter().zip(companions(&moved)) {
            if fs::rename(with_suffix(output, &format!(".{name}")), &kept).is_err() {
                // It had none: one that lies there belongs to the capture that perf deleted. Mostly there is none either.
                let _ = fs::remove_file(kept);
            }
        }
    }
}

/// The companions of the capture that perf deletes to rename the older one there. perf deletes no directory that holds a file
/// which it does not know (`rm_rf_perf_data`), and then does not record: the files must be out of the way while it runs.
pub(crate) struct Oldest {
    cleared: Option<Cleared>,
}

/// What was taken away, and from what.
struct Cleared {
    directory: PathBuf,
    capture: Capture,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Oldest {
    /// Takes them away, where a capture at `output` will be renamed.
    pub(crate) fn clear(output: &Path) -> Result<Oldest> {
        let directory = with_suffix(output, ".old");
        if !output.exists() || !directory.is_dir() {
            return Ok(Oldest { cleared: None });
        }
        let mut files = Vec::new();
        for path in companions(&directory).into_iter().filter(|path| path.exists()) {
            let what = || format!("cannot move {} out of perf's way", path.display());
            let bytes = fs::read(&path).with_context(what)?;
            fs::remove_file(&path).with_context(what)?;
            files.push((path, bytes));
        }
        let capture = Capture::at(&directory);
        Ok(Oldest { cleared: Some(Cleared { directory, capture, files }) })
    }

    /// Puts them back where perf left the capture alone.
    pub(crate) fn put_back(self) -> Result<()> {
        let Some(Cleared { directory, capture, files }) = self.cleared else { return Ok(()) };
        if Capture::at(&directory) != capture {
            return Ok(());
        }
        files.iter().try_for_each(|(path, bytes)| {
            let is_memory = path.file_name() == Some(OsStr::new(code_copies::NAME));
            let write = if is_memory { write_private_file } else { write_file };
            write(path, bytes).with_context(|| format!("cannot put {} back", path.display()))
        })
    }
}

/// Where these are for the capture at `capture`, in the same order.
fn companions(capture: &Path) -> [PathBuf; COMPANIONS.len()] {
    COMPANIONS.map(|name| companion(capture, name))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn memory_that_is_put_back_is_the_users_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("perf.data.old");
        fs::create_dir(&directory).expect("made");
        let files = companions(&directory).map(|path| (path, b"1".to_vec())).to_vec();
        let capture = Capture::at(&directory);
        let [.., code] = companions(&directory);
        Oldest { cleared: Some(Cleared { directory, capture, files }) }.put_back().expect("put back");
        let mode = fs::metadata(code).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
