//! Rings on the disk, as perf leaves them: each a file, or a directory where the kernel's code was copied.
//!
//! perf copies that code once, into its first directory (`record__kcore_copy`): here every later one gets it, by hard links.
//! Source: `perf_data__switch` in tools/perf/util/data.c: perf renames what is complete, adding the time.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use analysis::request::ptwrite_beside;
use perfdata::{Machine, companion};
use symbols::code_copies;

use super::watched::Watched;

/// What perf writes to; it adds the time when it is complete.
pub(super) const OPEN: &str = "ring";
/// perf's name for the copy of the kernel.
const KERNEL: &str = "kcore_dir";

/// A ring that perf wrote.
pub(super) struct Ring {
    /// Where.
    pub(super) path: PathBuf,
    /// How long the interval file was then.
    pub(super) marks_end: u64,
    /// Whether something may be slow in it.
    pub(super) is_wanted: bool,
    /// What ended up to this reading of the TSC is in the interval file then.
    pub(super) marked_until: u64,
    /// What was heard since the ring before.
    pub(super) watched: Watched,
    /// perf took all that it says of mappings after this time.
    pub(super) mapped_since: SystemTime,
}

impl Ring {
    /// Gives it the kernel's code that an earlier one has, or keeps its own for later ones.
    pub(super) fn share_kernel(&self) -> io::Result<()> {
        let Some(folder) = self.path.parent().filter(|_| self.path.is_dir()) else { return Ok(()) };
        let (own, shared) = (self.path.join(KERNEL), folder.join(KERNEL));
        match (own.exists(), shared.exists()) {
            (true, false) => link_files(&own, &shared),
            (false, true) => link_files(&shared, &own),
            _ => Ok(()),
        }
    }

    /// Removes it, and what lies beside it.
    pub(super) fn remove(&self) {
        remove(&self.path);
    }
}

/// Removes the capture `ring`, and what lies beside it.
pub(super) fn remove(ring: &Path) {
    // What cannot be removed is only in the way.
    if ring.is_dir() {
        let _ = fs::remove_dir_all(ring);
    } else {
        let _ = fs::remove_file(Machine::place(ring));
        let _ = fs::remove_file(ptwrite_beside(ring));
        let _ = fs::remove_file(companion(ring, code_copies::NAME));
        let _ = fs::remove_file(ring);
    }
}

/// Removes what [`Ring::share_kernel`] kept in `folder`.
pub(super) fn remove_shared(folder: &Path) {
    // It may never have been there.
    let _ = fs::remove_dir_all(folder.join(KERNEL));
}

/// Removes what perf writes to in `folder`, where perf was killed: such a file has no header.
pub(super) fn remove_open(folder: &Path) {
    remove(&folder.join(OPEN));
}

/// Makes the folder `to` of the same files as `from`.
fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::hard_link(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The rings in `folder` that are complete and not among `seen`.
pub(super) fn written(folder: &Path, seen: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| is_complete(path) && !seen.contains(path)).collect()
}

/// Whether perf has renamed it: `ring.` and the time in digits.
fn is_complete(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let time = name.strip_prefix(OPEN).and_then(|rest| rest.strip_prefix('.')).unwrap_or_default();
    !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit())
}

/// The bytes of the file `path`, or of all files in that folder.
pub(super) fn bytes_below(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let entries = fs::read_dir(path).into_iter().flatten();
            entries.filter_map(|entry| Some(bytes_below(&entry.ok()?.path()))).sum()
        }
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }

    #[test]
    fn every_ring_has_the_kernel_of_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let ring = |name: &str| {
            let path = folder.path().join(name);
            let (watched, mapped_since) = (Watched::default(), SystemTime::now());
            Ring { path, marks_end: 0, is_wanted: true, marked_until: 0, watched, mapped_since }
        };
        let kernel = |name: &str| fs::read(folder.path().join(name).join("kcore_dir/kcore")).ok();
        file(&ring("ring.1").path.join("kcore_dir/kcore"), b"code");
        file(&ring("ring.1").path.join("data"), b"records");
        file(&ring("ring.2").path.join("data"), b"records");
        ring("ring.1").share_kernel().expect("kept");
        ring("ring.1").remove();
        ring("ring.2").share_kernel().expect("given");
        assert_eq!((kernel("ring.1"), kernel("ring.2")), (None, Some(b"code".to_vec())));
        remove_shared(folder.path());
        assert_eq!(kernel("ring.2"), Some(b"code".to_vec()));
        // A file has none.
        file(&ring("ring.3").path, b"records");
        ring("ring.3").share_kernel().expect("nothing to do");
        assert_eq!(bytes_below(folder.path()), 2 * 7 + 4);
    }

    #[test]
    fn a_ring_is_complete_when_it_has_its_time() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in
            ["ring", "ring.2026112519240012", "ring.1.machine.json", "ring.old", "slow-0001.data", "ring.1"]
        {
            file(&folder.path().join(name), b"");
        }
        let seen = BTreeSet::from([folder.path().join("ring.1")]);
        let found = written(folder.path(), &seen);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [folder.path().join("ring.2026112519240012")]);
    }
}
