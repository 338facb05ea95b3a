//! Opens an archive from a stranger: no path leaves the folder, no link is made or followed, sizes are bounded before
//! anything is written, and what unpacks to too much is given up.
//!
//! Input: a tar file packed by zstd. Output: plain files and folders beneath a new folder, or an error; of a refused
//! archive nothing is used. Uses nothing of the rest of the tool, so that it can be fuzzed by itself.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use tar::EntryType;

/// How much an archive may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all files together, tar's own included.
    pub bytes: u64,
    /// How many bytes may come out of each packed byte, above [`Limits::free_bytes`].
    pub ratio: u64,
    /// So much may come out of however little: a small archive of zeros does no harm.
    pub free_bytes: u64,
    /// Files and folders.
    pub entries: usize,
    /// zstd's window, as a power of two: so much memory the unpacking takes.
    pub window_log: u32,
}

impl Default for Limits {
    /// A bundle with a kernel, debug files and hundreds of megabytes of trace passes.
    fn default() -> Limits {
        Limits { bytes: 8 << 30, ratio: 200, free_bytes: 256 << 20, entries: 10_000, window_log: 27 }
    }
}

/// Names longer than this are no bundle's.
const LONGEST_PATH: usize = 512;
/// Folders in folders: a bundle has six.
const DEEPEST: usize = 16;
/// Bytes copied at once.
const STEP: usize = 1 << 16;

/// Why an archive was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be read: no zstd, no tar, cut off.
    #[error("it cannot be unpacked ({0}): was the copy complete?")]
    Unreadable(io::Error),
    /// Writing what it holds failed.
    #[error("{path} cannot be written")]
    Unwritable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name that may lead out of the folder.
    #[error("it names a file {0:?}, which lies outside of it: refused")]
    Outside(String),
    /// A link, device, pipe or anything else that is neither file nor folder.
    #[error("{0:?} in it is neither a file nor a folder: refused, a bundle holds no links and devices")]
    Special(String),
    /// The same file twice.
    #[error("it holds {0:?} twice: refused")]
    Twice(String),
    /// More than the limits allow.
    #[error("{0}: refused; unpack it by hand if you trust it, and name the folder")]
    TooMuch(String),
}

/// Unpacks `archive` into the empty folder `into`.
///
/// # Errors
/// [`Refusal`]. What was written until then stays, and is the caller's to remove.
pub fn unpack(archive: impl Read, into: &Path, limits: &Limits) -> Result<(), Refusal> {
    let packed = Counted { inner: archive, count: 0 };
    let mut decoder = zstd::stream::read::Decoder::new(packed).map_err(Refusal::Unreadable)?;
    decoder.window_log_max(limits.window_log).map_err(Refusal::Unreadable)?;
    let bounded = Bounded { decoder, count: 0, limits: *limits };
    let mut archive = tar::Archive::new(bounded);
    // Raw: extensions that tar would read into memory as a whole are entries here, and refused as such.
    let entries = archive.entries().map_err(refusal)?.raw(true);
    for (index, entry) in entries.enumerate() {
        let mut entry = entry.map_err(refusal)?;
        if index >= limits.entries {
            return Err(Refusal::TooMuch(format!("it holds more than {} files", limits.entries)));
        }
        let kind = entry.header().entry_type();
        let path = safe_path(&entry.path_bytes())?;
        if entry.size() > limits.bytes {
            return Err(too_large(limits.bytes));
        }
        match kind {
            EntryType::Directory => make_folders(into, &path)?,
            EntryType::Regular => write_file(&mut entry, into, &path)?,
            _ => return Err(Refusal::Special(path.display().to_string())),
        }
    }
    Ok(())
}

/// `bytes` as a path that stays beneath the folder it is appended to.
fn safe_path(bytes: &[u8]) -> Result<PathBuf, Refusal> {
    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_PATH)]).into_owned();
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::Outside(shown()))?;
    is_inside(text).then(|| PathBuf::from(text)).ok_or_else(|| Refusal::Outside(shown()))
}

/// Whether a path from a stranger names something beneath the folder it will be appended to.
pub(crate) fn is_inside(path: &str) -> bool {
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    let parts = || Path::new(path).components();
    let is_sound = !path.is_empty() && path.len() <= LONGEST_PATH && !path.contains(|c: char| c.is_control());
    is_sound && parts().all(is_name) && (1..=DEEPEST).contains(&parts().count())
}

/// Makes the folders of `path` beneath `into`. That itself is not made again: where the process is ending, it was removed.
fn make_folders(into: &Path, path: &Path) -> Result<(), Refusal> {
    // Everything beneath `into` was made here, and no link was: nothing can be followed.
    let mut folder = into.to_owned();
    for part in path.components() {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Refusal::Unwritable { path: folder, source });
            }
            _ => {}
        }
    }
    Ok(())
}

fn write_file(entry: &mut impl Read, into: &Path, path: &Path) -> Result<(), Refusal> {
    path.parent().map_or(Ok(()), |folder| make_folders(into, folder))?;
    let path = into.join(path);
    let unwritable = |source| Refusal::Unwritable { path: path.clone(), source };
    let mut file = File::create_new(&path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Refusal::Twice(path.display().to_string()),
        _ => unwritable(source),
    })?;
    let mut step = vec![0; STEP];
    loop {
        let count = entry.read(&mut step).map_err(refusal)?;
        if count == 0 {
            return Ok(());
        }
        file.write_all(&step[..count]).map_err(unwritable)?;
    }
}

/// An error of reading: a limit that [`Bounded`] met, or the archive's own.
fn refusal(error: io::Error) -> Refusal {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Exceeded>()) {
        Some(Exceeded(what)) => Refusal::TooMuch(what.clone()),
        None => Refusal::Unreadable(error),
    }
}

fn too_large(bytes: u64) -> Refusal {
    Refusal::TooMuch(format!("more than {} MiB come out of it", bytes >> 20))
}

/// A limit that was met while reading.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Exceeded(String);

/// Counts what is read.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// Ends with an error where more comes out than the limits allow.
struct Bounded<'a, R: Read> {
    decoder: zstd::stream::read::Decoder<'a, io::BufReader<Counted<R>>>,
    count: u64,
    limits: Limits,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.count += count as u64;
        let packed = self.decoder.get_ref().get_ref().count;
        let Limits { bytes, ratio, free_bytes, .. } = self.limits;
        let what = if self.count > bytes {
            format!("more than {} MiB come out of it", bytes >> 20)
        } else if self.count > free_bytes.saturating_add(packed.saturating_mul(ratio)) {
            format!("more than {ratio} bytes come out of each of its bytes")
        } else {
            return Ok(count);
        };
        Err(io::Error::other(Exceeded(what)))
    }
}
