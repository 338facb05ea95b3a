//! A file or folder in the making, beside the name that it gets when it is complete.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::scratch::Scratch;

/// So much of a name stands in its draft's: with what is added, names have up to 255 bytes.
const LONGEST_NAME: usize = 200;
/// More links in a row are a circle (`MAXSYMLINKS` of the kernel).
const MOST_LINKS: usize = 40;

/// A file in the making. Dropped before it is published, it leaves what was there.
pub struct Draft {
    file: File,
    /// The scratch and the name it gets; `None` where the file itself is written: a device, a pipe, stdout.
    named: Option<(Scratch, PathBuf)>,
}

impl Draft {
    /// A draft of the file at `path`. A link is followed: what it names is replaced.
    ///
    /// # Errors
    /// What the operating system says; `IsADirectory` where a folder is there.
    pub fn of(path: &Path) -> io::Result<Draft> {
        let found = fs::metadata(path).ok();
        if found.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(found) = &found {
            let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
            let is_stdout = |own: &fs::Metadata| (own.dev(), own.ino()) == (found.dev(), found.ino());
            // What is printed besides follows, and does not overwrite it.
            if let Some(file) = stdout.ok().filter(|own| own.metadata().is_ok_and(|own| is_stdout(&own))) {
                return Ok(Draft { file, named: None });
            }
        }
        let name = match &found {
            Some(found) if !found.is_file() => None,
            _ => without_links(path)?,
        };
        let Some(name) = name else {
            let file = File::options().append(true).open(path)?;
            return Ok(Draft { file, named: None });
        };
        let (scratch, file) = Scratch::file(folder_of(&name), &prefix(&name)?, 0o666)?;
        if let Some(found) = found {
            // Who may read the old one may read the new one, and no one else.
            file.set_permissions(Permissions::from_mode(found.mode() & 0o777))?;
        }
        Ok(Draft { file, named: Some((scratch, name)) })
    }

    /// A draft of the file at `path` that the user alone may read, as perf makes its captures, whatever was there and who could read that.
    /// A link is replaced; what it names stays.
    ///
    /// # Errors
    /// What the operating system says.
    pub(super) fn private(path: &Path) -> io::Result<Draft> {
        let (scratch, file) = Scratch::file(folder_of(path), &prefix(path)?, 0o600)?;
        Ok(Draft { file, named: Some((scratch, path.to_owned())) })
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// What the operating system says; then it is removed.
    pub fn publish(self) -> io::Result<()> {
        self.named.map_or(Ok(()), |(scratch, name)| scratch.rename(&name))
    }

    /// The same once its bytes are on the disk, and so that the name is, too.
    ///
    /// # Errors
    /// As [`Draft::publish`].
    pub fn publish_synced(self) -> io::Result<()> {
        let Some((scratch, name)) = self.named else { return Ok(()) };
        self.file.sync_all()?;
        scratch.rename(&name)?;
        sync_folder(folder_of(&name))
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A folder in the making. Dropped before it is published, it is removed.
pub(crate) struct FolderDraft {
    scratch: Scratch,
    name: PathBuf,
    /// All folders within it.
    folders: BTreeSet<PathBuf>,
}

impl FolderDraft {
    /// A draft of the folder at `path`, where nothing may be.
    ///
    /// # Errors
    /// What the operating system says; `AlreadyExists` where something is there.
    pub(crate) fn of(path: &Path) -> io::Result<FolderDraft> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let scratch = Scratch::folder(folder_of(path), &prefix(path)?, 0o777)?;
        Ok(FolderDraft { scratch, name: path.to_owned(), folders: BTreeSet::new() })
    }

    /// Where it is until it is published.
    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Writes a file of it to the disk; `name` is its path in the folder.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn write(&mut self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = self.path().join(name);
        let within = path.ancestors().skip(1).take_while(|folder| *folder != self.scratch.path());
        let within: Vec<PathBuf> = within.map(Path::to_owned).collect();
        for folder in within.iter().rev() {
            match fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        self.folders.extend(within);
        let mut file = File::create_new(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Gives it its name, once all of it is on the disk.
    ///
    /// # Errors
    /// What the operating system says; `AlreadyExists` where something came to be there. Then it is removed.
    pub(crate) fn publish(self) -> io::Result<()> {
        for folder in self.folders.iter().map(PathBuf::as_path).chain([self.scratch.path()]) {
            sync_folder(folder)?;
        }
        self.scratch.rename(&self.name)?;
        sync_folder(folder_of(&self.name))
    }
}

/// The folder in which `path` lies.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What the draft's name begins with: hidden, and says whose draft it is.
fn prefix(path: &Path) -> io::Result<OsString> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.as_bytes();
    let mut prefix = OsString::from(".");
    prefix.push(OsStr::from_bytes(&name[..name.len().min(LONGEST_NAME)]));
    prefix.push(".tailtrace-");
    Ok(prefix)
}

/// The path that `path` stands for; `None` where a link leads to an open file of a process (`/dev/fd/3`), which has no name of its own.
fn without_links(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(Some(path)) };
        let folder = folder_of(&path);
        if folder.canonicalize()?.starts_with("/proc") {
            return Ok(None);
        }
        path = folder.join(target);
    }
    Err(io::Error::other("too many links"))
}

/// A new name is safe from a crash once its folder is on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems cannot: then there is nothing to do.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}
