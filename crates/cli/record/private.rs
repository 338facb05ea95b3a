//! Files that the user alone may read: what stood in the memory of processes.
//!
//! Output: a file of mode 0600, as perf makes its captures, whatever was there and may have been read by others. It is made beside its name and
//! renamed: a link there is replaced, what it names stays. What a killed process leaves is removed by the next one that writes there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use analysis::output::remove_left_draft;
use anyhow::{Context as _, Result};
use rustix::fs::{FlockOperation, flock};
use tempfile::Builder;

/// So much of a name stands in its draft's: with what is added, names have up to 255 bytes.
const LONGEST_NAME: usize = 200;
/// Letters and digits that follow the prefix.
const RANDOM: usize = 6;

/// Writes `bytes` to the file at `path`, in place of what was there.
///
/// # Errors
/// What the operating system says, with the path.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_new(path, bytes).with_context(|| format!("{} cannot be written", path.display()))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.as_bytes();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(LONGEST_NAME)]));
    prefix.push(".tailtrace-");
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let random = name.as_bytes().strip_prefix(prefix.as_bytes());
        if random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
        {
            remove_left_draft(&entry.path());
        }
    }
    let mut draft = Builder::new()
        .prefix(&prefix)
        .rand_bytes(RANDOM)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    // A file system without locks has no run that could take this one for left.
    let _ = flock(draft.as_file(), FlockOperation::NonBlockingLockExclusive);
    draft.write_all(bytes)?;
    draft.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_other_user_may_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::symlink_metadata(place(name)).expect("there").permissions().mode();
        write(&place("new"), b"memory").expect("written");
        assert_eq!(mode("new"), 0o100_600);
        // What another recording left, which all may read.
        fs::write(place("old"), b"").expect("written");
        fs::set_permissions(place("old"), Permissions::from_mode(0o666)).expect("set");
        symlink(place("old"), place("link")).expect("linked");
        write(&place("link"), b"memory").expect("written");
        assert_eq!((mode("link"), fs::read(place("old")).expect("there")), (0o100_600, Vec::new()));
        write(&place("old"), b"memory").expect("written");
        assert_eq!((mode("old"), fs::read(place("old")).expect("there")), (0o100_600, b"memory".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 3);
        assert!(write(folder.path(), b"memory").is_err(), "a folder stays");
    }
}
