//! Writes a bundle: a folder, or a tar archive packed by zstd.

use std::io::{self, BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::layout::Content;
use super::unpack::is_inside;
use crate::error::Result;
use crate::output::{Draft, FolderDraft, unwritable};

/// What the name of an archive ends with.
const ARCHIVE: &[u8] = b".tar.zst";
/// zstd's own default.
const LEVEL: i32 = 3;
/// The folder in an archive whose own name is none for it.
const FOLDER: &str = "bundle";
/// A longer name leaves too little of tar's 100 bytes for the files in it.
const LONGEST_FOLDER: usize = 64;

/// Whether a bundle of this name is an archive, and no folder.
pub fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().ends_with(ARCHIVE))
}

/// Writes `files` to `path`: an archive where its name says so, over one that is there; else a folder, where nothing may be.
///
/// # Errors
/// [`Error::Exists`](crate::Error::Exists), or what the operating system says, with the path.
pub fn write(path: &Path, files: &[Content]) -> Result<()> {
    let written = if is_archive(path) { write_archive(path, files) } else { write_folder(path, files) };
    written.map_err(unwritable(path))
}

fn write_folder(path: &Path, files: &[Content]) -> io::Result<()> {
    let mut draft = FolderDraft::of(path)?;
    for (name, bytes) in files {
        draft.write(name, bytes)?;
    }
    draft.publish()
}

fn write_archive(path: &Path, files: &[Content]) -> io::Result<()> {
    let folder = folder_in(path);
    let file = BufWriter::new(Draft::of(path)?);
    let mut archive = tar::Builder::new(zstd::Encoder::new(file, LEVEL)?);
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_path(format!("{folder}/{name}"))?;
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, &bytes[..])?;
    }
    let mut file = archive.into_inner()?.finish()?;
    file.flush()?;
    let draft = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    draft.publish_synced()
}

/// The folder in the archive: its name without the ending, where that is one that opening takes.
fn folder_in(path: &Path) -> &str {
    let name = path.file_name().map(OsStrExt::as_bytes).and_then(|name| name.strip_suffix(ARCHIVE));
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    name.filter(|name| is_inside(name) && name.len() <= LONGEST_FOLDER).unwrap_or(FOLDER)
}
