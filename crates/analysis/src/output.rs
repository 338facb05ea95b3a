//! Files that a command leaves: each is written beside its name, and renamed when it is complete.
//!
//! One rule for all commands: an existing *file* is replaced, once the new one is complete; a *folder* is made only where nothing is,
//! and an existing one is never touched. An output that is an input is refused. What is no regular file (`/dev/stdout`, a FIFO)
//! is written as it comes.
//!
//! Input: a path and bytes. Output: a file or folder that is whole, or what was there before. What a killed process leaves is hidden,
//! is named after its output, and is removed by the next run that writes there.

mod draft;
mod inputs;
mod scratch;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub use draft::Draft;
pub(crate) use draft::FolderDraft;
pub(crate) use scratch::{Scratch, remove_unlocked, user_prefix};
pub use scratch::{remove_left_draft, remove_unfinished};

/// What a command is going to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// The one or the other, as its contents turn out.
    Either,
}

/// Refuses an output that cannot be written, before anything is computed for it. `inputs` are the files and folders that the command
/// reads.
///
/// # Errors
/// [`Error::IsInput`], [`Error::Exists`], or what the operating system says of the folder.
pub fn check(path: &Path, kind: Kind, inputs: &[PathBuf]) -> Result<()> {
    ensure_no_input(path, inputs)?;
    let is_taken = match kind {
        Kind::Folder => fs::symlink_metadata(path).is_ok(),
        Kind::File | Kind::Either => path.is_dir(),
    };
    if is_taken {
        return Err(Error::Exists(path.to_owned()));
    }
    let folder = draft::folder_of(path);
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(unwritable(path)(io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(unwritable(path)(error)),
    }
}

/// Refuses an output that is one of `inputs`, or a file in one.
///
/// # Errors
/// [`Error::IsInput`].
pub(crate) fn ensure_no_input(path: &Path, inputs: &[PathBuf]) -> Result<()> {
    match inputs::at(path, inputs) {
        Some(input) => Err(Error::IsInput { output: path.to_owned(), input }),
        None => Ok(()),
    }
}

/// Writes `bytes` to the file at `path`, over what was there.
///
/// # Errors
/// What the operating system says, with the path.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write(Draft::of(path), bytes).map_err(unwritable(path))
}

/// The same, for what stood in the memory of processes: the user alone may read it, whatever was there. A link is replaced.
///
/// # Errors
/// As [`write_file`].
pub fn write_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    write(Draft::private(path), bytes).map_err(unwritable(path))
}

fn write(draft: io::Result<Draft>, bytes: &[u8]) -> io::Result<()> {
    let mut draft = draft?;
    draft.write_all(bytes)?;
    draft.publish()
}

/// For `map_err`: that `path` cannot be written, and why.
pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists(path),
        _ => Error::Io { what: format!("{} cannot be written", path.display()), source: error },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn no_other_user_may_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::symlink_metadata(place(name)).expect("there").permissions().mode();
        write_private_file(&place("new"), b"memory").expect("written");
        assert_eq!(mode("new"), 0o100_600);
        // What another recording left, which all may read.
        fs::write(place("old"), b"").expect("written");
        fs::set_permissions(place("old"), fs::Permissions::from_mode(0o666)).expect("set");
        symlink(place("old"), place("link")).expect("linked");
        write_private_file(&place("link"), b"memory").expect("written");
        assert_eq!((mode("link"), fs::read(place("old")).expect("there")), (0o100_600, Vec::new()));
        write_private_file(&place("old"), b"memory").expect("written");
        assert_eq!((mode("old"), fs::read(place("old")).expect("there")), (0o100_600, b"memory".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 3);
        assert!(write_private_file(folder.path(), b"memory").is_err(), "a folder stays");
    }
}
