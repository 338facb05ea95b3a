//! What exists for a while only: drafts beside the names that they get, and folders of unpacked bundles.
//!
//! Each is locked (`flock`) while its process lives. So the next run knows what a killed process left, and removes that. Where a process
//! ends by a signal that it can take, [`remove_unfinished`] leaves nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;
use tempfile::{Builder, TempDir, TempPath};

/// Letters and digits that follow the prefix.
const RANDOM: usize = 6;
/// Another run may take a new entry for one that was left, in the moment before it is locked: then there is a new one.
const ATTEMPTS: usize = 16;

/// What this process has. Locked for ever once it ends by a signal: other threads then wait where they would make something, give it
/// its name, or report that it is gone.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or folder that goes when this is dropped, unless it gets a name before.
pub(crate) struct Scratch {
    /// Removes it. `Some` until it has its name.
    entry: Option<Entry>,
    path: PathBuf,
    /// Open as long as the entry is in use.
    lock: File,
}

enum Entry {
    File(TempPath),
    Folder(TempDir),
}

impl Entry {
    fn path(&self) -> &Path {
        match self {
            Entry::File(path) => path,
            Entry::Folder(folder) => folder.path(),
        }
    }

    /// Leaves it where it is.
    fn keep(self) {
        match self {
            Entry::File(mut path) => path.disable_cleanup(true),
            Entry::Folder(mut folder) => folder.disable_cleanup(true),
        }
    }
}

impl Scratch {
    /// A new file in `folder`, open for writing, with the permissions that the umask leaves of `mode`; those of its kind that were left
    /// there are removed.
    ///
    /// # Errors
    /// What the operating system says.
    pub(super) fn file(folder: &Path, prefix: &OsStr, mode: u32) -> io::Result<(Scratch, File)> {
        let scratch = Scratch::locked(folder, prefix, || {
            let (file, path) = builder(prefix, mode).tempfile_in(folder)?.into_parts();
            Ok((Entry::File(path), file))
        })?;
        let file = scratch.lock.try_clone()?;
        Ok((scratch, file))
    }

    /// A new folder in `folder`; otherwise as [`Scratch::file`].
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn folder(folder: &Path, prefix: &OsStr, mode: u32) -> io::Result<Scratch> {
        Scratch::locked(folder, prefix, || {
            let folder = builder(prefix, mode).tempdir_in(folder)?;
            let opened = File::open(folder.path())?;
            Ok((Entry::Folder(folder), opened))
        })
    }

    fn locked(
        folder: &Path,
        prefix: &OsStr,
        make: impl Fn() -> io::Result<(Entry, File)>,
    ) -> io::Result<Scratch> {
        remove_left(folder, prefix);
        for _ in 0..ATTEMPTS {
            let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            let (entry, file) = match make() {
                // Taken away between its making and its opening.
                Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => continue,
                result => result?,
            };
            // A file system without locks has no run that could take this one for left.
            let is_taken = flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            if !is_taken && is_same(&fs::symlink_metadata(entry.path()), &file.metadata()) {
                let path = entry.path().to_owned();
                live.insert(path.clone());
                return Ok(Scratch { entry: Some(entry), path, lock: file });
            }
        }
        Err(io::Error::other("every temporary name is taken away by another process"))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name. A file replaces what is there, a folder does not.
    ///
    /// # Errors
    /// What the operating system says; `AlreadyExists` where something is in a folder's place.
    pub(super) fn rename(mut self, to: &Path) -> io::Result<()> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let renamed = match &entry {
            Entry::File(_) => fs::rename(&self.path, to),
            Entry::Folder(_) => rename_to_nothing(&self.path, to),
        };
        if renamed.is_ok() {
            live.remove(&self.path);
            entry.keep();
        } else {
            drop(live);
            self.entry = Some(entry);
        }
        renamed
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            drop(entry);
            live.remove(&self.path);
        }
    }
}

fn builder(prefix: &OsStr, mode: u32) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM).permissions(Permissions::from_mode(mode));
    builder
}

fn is_same(one: &io::Result<Metadata>, other: &io::Result<Metadata>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system cannot; a folder that holds something is safe from a plain rename as well.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

/// `NAME-UID-`: whose it is, for a folder that all users share.
pub(crate) fn user_prefix(name: &str) -> OsString {
    format!("{name}-{}-", geteuid().as_raw()).into()
}

/// Removes what dead processes of this user left under such names.
fn remove_left(folder: &Path, prefix: &OsStr) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.as_bytes().strip_prefix(prefix.as_bytes());
        if random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
        {
            remove_unlocked(&entry.path());
        }
    }
}

/// Removes the draft at `path` if it is this user's and no process has it locked; else it stays.
pub fn remove_left_draft(path: &Path) {
    let _ = remove_unlocked(path);
}

/// Removes a file or folder of this user that no process has locked; `None` where it stays.
pub(crate) fn remove_unlocked(path: &Path) -> Option<()> {
    let found = fs::symlink_metadata(path).ok()?;
    if found.uid() != geteuid().as_raw() || !(found.is_file() || found.is_dir()) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    if found.is_dir() { fs::remove_dir_all(path).ok() } else { fs::remove_file(path).ok() }
}

/// Removes what is unfinished, for a process that ends by a signal right after that: threads that write outputs wait from then on.
pub fn remove_unfinished() {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in std::mem::take(&mut *live) {
        // Another thread may still write into a folder.
        for _ in 0..ATTEMPTS {
            let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            if gone.is_ok() || !path.exists() {
                break;
            }
        }
    }
    std::mem::forget(live);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another run took the first one for left before it was open.
    #[test]
    fn one_that_is_taken_away_at_once_is_made_anew() {
        let place = tempfile::tempdir().expect("a folder");
        let tries = std::cell::Cell::new(0);
        let scratch = Scratch::locked(place.path(), OsStr::new("x-"), || {
            tries.set(tries.get() + 1);
            let made = builder(OsStr::new("x-"), 0o700).tempdir_in(place.path())?;
            if tries.get() == 1 {
                fs::remove_dir(made.path())?;
            }
            let opened = File::open(made.path())?;
            Ok((Entry::Folder(made), opened))
        });
        assert!(scratch.expect("the second one").path().is_dir());
        assert_eq!(tries.get(), 2);
    }
}
