//! perf.data files come alone or in a directory; a changed copy comes as its original did.
//!
//! Input: a capture's path and where its copy goes. Output: the path of the copy's `data`, all else beside it copied.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// Copies what a perf.data directory has beside its `data`; returns where the copy's data belong.
///
/// # Errors
/// [`Error::File`]; [`Error::Usage`] if both are the same.
pub(crate) fn prepare(input: &Path, output: &Path) -> Result<PathBuf, Error> {
    if output.canonicalize().is_ok_and(|output| input.canonicalize().is_ok_and(|input| input == output)) {
        return Err(Error::Usage(format!("{}: input and output are the same", output.display())));
    }
    if !input.is_dir() {
        return Ok(output.to_owned());
    }
    copy(input, output)?;
    Ok(output.join("data"))
}

/// Copies a directory without its `data`; files (a kcore is large) as hard links where the file system can.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(to).map_err(Error::file(to))?;
    for entry in std::fs::read_dir(from).map_err(Error::file(from))? {
        let entry = entry.map_err(Error::file(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else if entry.file_name() != "data" {
            link(&source, &target)?;
        }
    }
    Ok(())
}

/// Makes `target` the same file as `source`, or a copy where the file system cannot.
///
/// # Errors
/// [`Error::File`].
pub(crate) fn link(source: &Path, target: &Path) -> Result<(), Error> {
    if target.exists() {
        // It may be a link to the source: copying into it would empty both.
        std::fs::remove_file(target).map_err(Error::file(target))?;
    }
    if std::fs::hard_link(source, target).is_err() {
        std::fs::copy(source, target).map_err(Error::file(target))?;
    }
    Ok(())
}
