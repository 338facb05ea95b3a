//! Whether an output is one of the files that the command reads: by device and inode, for a name may be a link.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// So many files of a folder are compared: more than a bundle, a capture, or the binaries of a program have.
const MOST_FILES: usize = 1 << 16;

/// The input that is the file at `output`, by any name; of a folder, a file anywhere in it.
pub(super) fn at(output: &Path, inputs: &[PathBuf]) -> Option<PathBuf> {
    // What does not exist, and what is no file of a disk, is not lost by being written.
    let found = fs::metadata(output).ok().filter(fs::Metadata::is_file)?;
    let is_it = |other: &fs::Metadata| (other.dev(), other.ino()) == (found.dev(), found.ino());
    let mut left = MOST_FILES;
    for input in inputs {
        let mut paths = vec![input.clone()];
        while let Some(path) = paths.pop() {
            let Ok(other) = fs::metadata(&path) else { continue };
            if is_it(&other) {
                return Some(path);
            }
            // Another device's folders hold no link to the file, unless it is the input itself.
            let is_searched = other.is_dir() && (path == *input || other.dev() == found.dev());
            if !is_searched || path != *input && path.is_symlink() {
                continue;
            }
            for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                left = left.saturating_sub(1);
                if left > 0 {
                    paths.push(entry.path());
                }
            }
        }
    }
    None
}
