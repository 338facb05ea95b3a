//! A trace as tracers leave it: a folder with the metadata and a file for each stream.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const METADATA: &str = "metadata";
/// `LTTng`'s traces lie in `ust/uid/0/64-bit`, and those of babeltrace2 below a host and a session.
const DEEPEST: u32 = 8;
/// Folders that are looked into.
const MOST: u32 = 4096;

/// The files of a trace.
pub(super) struct Folder {
    pub(super) metadata: PathBuf,
    pub(super) streams: Vec<PathBuf>,
}

/// The trace in the folder `path`, or in the one below it that has one.
///
/// # Errors
/// Where a folder cannot be read, or there is no trace, or more than one.
pub(super) fn find(path: &Path) -> io::Result<Folder> {
    let mut found = Vec::new();
    let mut left = MOST;
    look(path, DEEPEST, &mut left, &mut found)?;
    let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let [folder] = found.as_slice() else {
        let Some(first) = found.first() else {
            return wrong("a folder without the file `metadata` of a CTF trace".to_owned());
        };
        let first = first.display();
        return wrong(format!("it holds {} CTF traces: name the folder of one, as {first}", found.len()));
    };
    Ok(Folder { metadata: folder.join(METADATA), streams: streams(folder)? })
}

/// Adds the folders of traces, as long as `left` folders may be looked into.
fn look(folder: &Path, depth: u32, left: &mut u32, found: &mut Vec<PathBuf>) -> io::Result<()> {
    *left = left.saturating_sub(1);
    if folder.join(METADATA).is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    if depth == 0 || *left == 0 {
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A link may lead back.
        if entry.file_type()?.is_dir() {
            below.push(entry.path());
        }
    }
    below.sort();
    below.iter().try_for_each(|folder| look(folder, depth - 1, left, found))
}

/// The files of the streams.
fn streams(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_other = name == METADATA || name.as_encoded_bytes().starts_with(b".");
        if !is_other && entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
