//! Finds the files of a capture: a plain file, or a perf.data directory.
//!
//! Source: `tools/perf/Documentation/perf.data-directory-format.txt`: `data`, `data.N` (`perf record --threads`),
//! `kcore_dir`, `kcore_dir__PID`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Error;

/// The files of a capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    /// The path as the user gave it.
    pub(crate) path: PathBuf,
    /// The file with the header.
    pub(crate) main: PathBuf,
    /// `data.N`, by N.
    pub(crate) more_files: Vec<PathBuf>,
    pub(crate) kcore_dir: Option<PathBuf>,
    pub(crate) guest_kcore_dirs: Vec<(i32, PathBuf)>,
}

impl Directory {
    pub(crate) fn single_file(path: &Path) -> Directory {
        Directory { path: path.to_path_buf(), main: path.to_path_buf(), ..Directory::default() }
    }
}

/// Finds the files of `path`.
pub(crate) fn find(path: &Path) -> Result<Directory, Error> {
    let io = |source: io::Error| Error::Io { path: path.to_path_buf(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(Directory::single_file(path));
    }
    let mut directory = Directory::single_file(path);
    directory.main = path.join("data");
    if !directory.main.is_file() {
        return Err(Error::NoDataFile { path: path.to_path_buf() });
    }
    let mut numbered = Vec::new();
    for entry in fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == "kcore_dir" {
            directory.kcore_dir = Some(entry.path());
        } else if let Some(pid) = name.strip_prefix("kcore_dir__").and_then(|pid| pid.parse().ok()) {
            directory.guest_kcore_dirs.push((pid, entry.path()));
        } else if let Some(number) = name.strip_prefix("data.").and_then(|number| number.parse::<u32>().ok())
        {
            numbered.push((number, entry.path()));
        }
    }
    numbered.sort();
    directory.guest_kcore_dirs.sort();
    directory.more_files = numbered.into_iter().map(|(_, path)| path).collect();
    Ok(directory)
}
