//! Which files and folders are captures.
//!
//! What is named is one, whatever it holds: where it cannot be read, its row says why. In a folder of captures those count that begin as a perf.data or
//! an archive does, or are called so; what lies beside them (interval files, machine files, clock pairs) does not. Links are not followed.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use analysis::bundle::is_bundle;
use analysis::study;

use crate::error::{Error, Result};

/// How a perf.data begins.
const PERF_DATA: &[u8] = b"PERFILE2";
/// Folders in folders; deeper ones are not looked into.
const DEEPEST: usize = 32;

/// The captures at `path`, in the order of their names.
///
/// # Errors
/// Where there is nothing, or a folder cannot be read.
pub fn found(path: &Path) -> Result<Vec<PathBuf>> {
    fs::metadata(path).map_err(Error::io(format!("{} cannot be read", path.display())))?;
    let mut captures = Vec::new();
    look(path, DEEPEST, &mut captures)?;
    Ok(captures)
}

fn look(path: &Path, depth: usize, captures: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() || is_bundle(path) || path.join("data").is_file() {
        captures.push(path.to_owned());
        return Ok(());
    }
    if let Some(slices) = study::slices(path) {
        captures.extend(slices);
        return Ok(());
    }
    let cannot = || Error::io(format!("{} cannot be read", path.display()));
    let mut entries =
        fs::read_dir(path).map_err(cannot())?.collect::<Result<Vec<_>, _>>().map_err(cannot())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type().map_err(cannot())?, entry.path());
        if kind.is_dir() && depth > 0 {
            look(&path, depth - 1, captures)?;
        } else if kind.is_file() && entry.metadata().is_ok_and(|meta| meta.len() > 0) && is_capture(&path) {
            captures.push(path);
        }
    }
    Ok(())
}

/// Whether a file in a folder is meant. An empty one is not: it may be on its way, and Spark leaves it out, too.
fn is_capture(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // What is written at this moment has a hidden name.
    if name.starts_with('.') {
        return false;
    }
    if name.ends_with(".tar.zst") || name.ends_with(".data") {
        return true;
    }
    let mut begin = [0; PERF_DATA.len()];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok();
    is_read && begin == PERF_DATA || is_bundle(path)
}
