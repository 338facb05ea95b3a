//! Keeps found calls in the user's cache folder: as many as [`MOST_FILES`] and [`MOST_BYTES`] allow, the oldest go first.

use std::cmp::Reverse;
use std::fs::{self, DirBuilder, DirEntry};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use intervals::functions::{CACHE_NAME, FoundCalls, MarkCache};
use rustix::process::geteuid;

use crate::output;

/// `docs/recording.md` states both.
const MOST_FILES: usize = 64;
/// See [`MOST_FILES`]; eight million calls.
const MOST_BYTES: u64 = 256 << 20;

/// Keeps `found`, and removes what is too much then. A folder that cannot be written costs a second scan the next time, no more.
pub(super) fn keep(cache: &MarkCache, found: &FoundCalls) {
    let contents = cache.contents(found);
    if contents.len() as u64 <= MOST_BYTES {
        let _ = write(cache.path(), &contents);
    }
}

fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    if !is_own(folder) {
        return Ok(());
    }
    // What was asked of which program is the user's own business.
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // A pipe in its place would wait for a reader, and a link leads elsewhere.
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    output::write_file(path, contents).map_err(io::Error::other)?;
    remove_drafts(folder)?;
    for old in surplus(files(folder)?, path) {
        let _ = fs::remove_file(old);
    }
    Ok(())
}

/// Whether `folder`, or the nearest folder above it that is there, is this user's: `sudo` keeps the home of another.
fn is_own(folder: &Path) -> bool {
    let there = folder.ancestors().find_map(|folder| folder.metadata().ok());
    there.is_some_and(|there| there.uid() == geteuid().as_raw())
}

/// A kept file: when it was written, its length, its path.
type Kept = (SystemTime, u64, PathBuf);

fn files(folder: &Path) -> io::Result<Vec<Kept>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Another run may remove it at any time.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() && entry.file_name().to_string_lossy().starts_with(CACHE_NAME) {
            found.push((metadata.modified()?, metadata.len(), entry.path()));
        }
    }
    Ok(found)
}

/// Removes the drafts of other functions' calls that killed runs have left.
fn remove_drafts(folder: &Path) -> io::Result<()> {
    let is_draft =
        |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(&format!(".{CACHE_NAME}"));
    for draft in fs::read_dir(folder)?.filter_map(Result::ok).filter(is_draft) {
        let _ = output::remove_unlocked(&draft.path());
    }
    Ok(())
}

/// The files that are too many, or too much together; never `newest`, which was just written.
fn surplus(mut files: Vec<Kept>, newest: &Path) -> Vec<PathBuf> {
    files.sort_unstable_by_key(|file| Reverse((file.2 == newest, file.0)));
    let mut bytes = 0_u64;
    let mut surplus = Vec::new();
    for (count, (_, length, path)) in files.into_iter().enumerate() {
        bytes = bytes.saturating_add(length);
        if count >= MOST_FILES || bytes > MOST_BYTES {
            surplus.push(path);
        }
    }
    surplus
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kept(ages: impl IntoIterator<Item = (u64, u64)>) -> Vec<Kept> {
        let file = |(age, length): (u64, u64)| {
            (SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age), length, format!("calls-{age}").into())
        };
        ages.into_iter().map(file).collect()
    }

    fn removed(files: Vec<Kept>, newest: &str) -> Vec<String> {
        surplus(files, Path::new(newest)).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_oldest_go_first() {
        assert_eq!(removed(kept((0..64).map(|age| (age, 1))), "calls-0"), Vec::<String>::new());
        assert_eq!(removed(kept((0..66).map(|age| (age, 1))), "calls-0"), ["calls-64", "calls-65"]);
        let large = MOST_BYTES / 2;
        assert_eq!(removed(kept([(3, large), (1, large), (2, large)]), "calls-1"), ["calls-3"]);
        // A clock that was set back makes the newest look old.
        assert_eq!(removed(kept([(3, large), (1, large), (2, large)]), "calls-3"), ["calls-2"]);
    }
}
