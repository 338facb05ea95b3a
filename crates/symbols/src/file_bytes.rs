//! The bytes of a file: mapped where it is plain, owned where it had to be unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::InodeId;

use crate::sys;

/// The most that is read of a file that does not report its size; `/proc/kallsyms` has 10 to 20 MiB.
const LARGEST_UNSIZED: u64 = 256 << 20;

/// The bytes of a file. A damaged or hostile file can hold anything; nothing is known but its length.
#[derive(Debug)]
pub(crate) enum FileBytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps the regular file at `path`.
    ///
    /// # Errors
    /// Whatever opening it says; `InvalidInput` where it is no regular file (a directory, a FIFO).
    pub(crate) fn open(path: &Path) -> io::Result<FileBytes> {
        FileBytes::of(open_regular(path)?, path)
    }

    /// Maps the regular file at `path`, which must be stored in a file system: what the kernel makes up when it is read
    /// (`/proc`, `/sys`) is no program, and what devices show is none either. Also says which file it is and when it was changed last.
    ///
    /// # Errors
    /// As [`FileBytes::open`].
    pub(crate) fn open_stored(path: &Path) -> io::Result<(FileBytes, Stored)> {
        let file = open_regular(path)?;
        if is_made_by_kernel(&file) || path.canonicalize()?.starts_with("/dev") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a file of the kernel's, not a stored one",
            ));
        }
        let stored = stored(&file)?;
        Ok((FileBytes::of(file, path)?, stored))
    }

    fn of(file: File, path: &Path) -> io::Result<FileBytes> {
        if file.metadata()?.len() == 0 {
            // Files under /proc say that they are empty, and cannot be mapped.
            let mut bytes = Vec::new();
            if is_list_of_kernel(path) {
                file.take(LARGEST_UNSIZED).read_to_end(&mut bytes)?;
            }
            return Ok(FileBytes::Owned(bytes));
        }
        sys::map_file(&file).map(FileBytes::Mapped)
    }
}

/// Whether this is one of the files under /proc that end: reading others waits for their next line (`kmsg`), or takes it away from
/// who should get it.
fn is_list_of_kernel(path: &Path) -> bool {
    let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_owned()));
    name.is_some_and(|name| name == "kallsyms" || name == "modules")
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Before opening: a FIFO would block, a device could act.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

/// Whether `file` lies in a file system whose files are made when they are read (`linux/magic.h`).
fn is_made_by_kernel(file: &File) -> bool {
    const MAGICS: [i64; 9] = [
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x6165_676c, // pstore
        0x6265_6570, // configfs
    ];
    rustix::fs::fstatfs(file).is_ok_and(|found| MAGICS.contains(&found.f_type))
}

/// A file as its file system knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Which one it is.
    pub(crate) inode: InodeId,
    /// When its bytes or anything else of it changed last (`st_ctime`): no program sets that.
    pub(crate) changed: SystemTime,
}

fn stored(file: &File) -> io::Result<Stored> {
    let meta = file.metadata()?;
    let device = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let inode = InodeId { device, inode: meta.ino(), generation: sys::generation(file).unwrap_or(0) };
    let [seconds, ns] = [meta.ctime(), meta.ctime_nsec()].map(|number| u64::try_from(number).unwrap_or(0));
    // A file system may hold any number: what is out of range is as late as can be said, and serves for nothing.
    let changed = Duration::from_secs(seconds).checked_add(Duration::from_nanos(ns));
    let changed = changed.and_then(|since| UNIX_EPOCH.checked_add(since)).unwrap_or_else(SystemTime::now);
    Ok(Stored { inode, changed })
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(bytes) => bytes,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}
