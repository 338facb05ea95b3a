//! Room on the disk: of the bundles that were not delivered the oldest go first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use analysis::output::remove_left_draft;
use rustix::fs::{FlockOperation, flock};

use super::bundles;

/// A draft that was not written to for so long has no writer: where many hosts write to one folder, a lock may be known to one of them
/// alone.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes the oldest bundles in `folder` until they have at most `most` bytes together; one that is being delivered stays. Returns what
/// was removed.
pub(super) fn make(folder: &Path, most: u64) -> Vec<PathBuf> {
    let there = bundles::in_folder(folder);
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    let mut sum: u64 = there.iter().map(size).sum();
    let mut removed = Vec::new();
    for path in there {
        if sum <= most {
            break;
        }
        let bytes = size(&path);
        let is_free = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let file = File::open(&path).ok().filter(is_free);
        if file.is_some() && fs::remove_file(&path).is_ok() {
            sum = sum.saturating_sub(bytes);
            removed.push(path);
        }
    }
    removed
}

/// Removes drafts of bundles in `folder` that recorders left which were killed.
pub(super) fn remove_drafts(folder: &Path) {
    let is_old = |path: &Path| {
        let written = fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
        written.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age >= ABANDONED)
    };
    for path in bundles::drafts(folder).into_iter().filter(|path| is_old(path)) {
        remove_left_draft(&path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |number: u32| folder.path().join(format!("slow-000000000000{number}-0a.tar.zst"));
        for number in 1..=5 {
            fs::write(place(number), [0; 100]).expect("written");
        }
        fs::write(folder.path().join("other.tar.zst"), [0; 1000]).expect("written");
        let delivered = File::open(place(2)).expect("there");
        flock(&delivered, FlockOperation::NonBlockingLockExclusive).expect("locked");
        assert_eq!(make(folder.path(), 500), Vec::<PathBuf>::new());
        assert_eq!(make(folder.path(), 250), [1, 3, 4].map(place));
        assert_eq!(bundles::in_folder(folder.path()), [2, 5].map(place));
        assert!(folder.path().join("other.tar.zst").exists());
    }

    #[test]
    fn drafts_without_a_writer_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |random: &str| folder.path().join(format!(".slow-1-0a.tar.zst.tailtrace-{random}"));
        for random in ["aaaaaa", "bbbbbb"] {
            fs::write(place(random), "").expect("written");
        }
        let old = File::options().write(true).open(place("aaaaaa")).expect("there");
        old.set_modified(SystemTime::now() - 2 * ABANDONED).expect("set");
        remove_drafts(folder.path());
        assert_eq!((place("aaaaaa").exists(), place("bbbbbb").exists()), (false, true));
    }
}
