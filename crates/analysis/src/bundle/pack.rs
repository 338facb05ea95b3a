//! Writes a bundle: a folder, or a tar archive packed by zstd.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::layout::Content;
use crate::error::{Error, Result};
use crate::slice::write_file;

/// What the name of an archive ends with.
const ARCHIVE: &str = ".tar.zst";
/// zstd's own default.
const LEVEL: i32 = 3;

/// Writes `files` to `path`: an archive where its name says so.
///
/// # Errors
/// What the operating system says, with the path.
pub fn write(path: &Path, files: &[Content]) -> Result<()> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    match name.strip_suffix(ARCHIVE) {
        Some(folder) => {
            let folder = if folder.is_empty() { "bundle" } else { folder };
            write_archive(path, folder, files)
                .map_err(Error::io(format!("{} cannot be written", path.display())))
        }
        None => write_folder(path, files),
    }
}

fn write_folder(path: &Path, files: &[Content]) -> Result<()> {
    for (name, bytes) in files {
        let file = path.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(Error::io(format!("{} cannot be made", folder.display())))?;
        }
        write_file(&file, bytes)?;
    }
    Ok(())
}

fn write_archive(path: &Path, folder: &str, files: &[Content]) -> io::Result<()> {
    let file = BufWriter::new(File::create_new(path)?);
    let mut archive = tar::Builder::new(zstd::Encoder::new(file, LEVEL)?);
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_path(format!("{folder}/{name}"))?;
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, &bytes[..])?;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(())
}
