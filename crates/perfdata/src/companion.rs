//! Where a file lies that belongs to another one: what perf does not write, beside a capture.

use std::path::{Path, PathBuf};

/// The file `name` of the capture, or of another file, at `path`: in a directory it has this name, beside a file that of the file with
/// `.name` after it.
pub fn companion(path: &Path, name: &str) -> PathBuf {
    if path.is_dir() {
        return path.join(name);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".");
    beside.push(name);
    beside.into()
}
