//! The files that served for code and names, as a bundle keeps them: by build ID in perf's layout where the recording
//! has it, else by their recorded path.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use model::BuildId;
use symbols::UsedFile;

use super::layout::{Content, SYMFS};
use super::unpack::is_inside;
use crate::error::{Error, Result};
use crate::slice::Slice;

/// Larger files are no program of anybody's.
const LARGEST: u64 = 2 << 30;

/// Their contents; a name that would lead out of the bundle is left out.
pub(super) fn contents(slice: &Slice) -> Result<Vec<Content>> {
    let mut files = Vec::new();
    let mut known = BTreeSet::new();
    for file in &slice.files {
        let binary = match &file.build_id {
            // The name under which the cache keeps the vDSO.
            Some(id) => format!("{}/{}", cached(id), if file.name == "[vdso]" { "vdso" } else { "elf" }),
            None => format!("{SYMFS}/{}", slice.name_in_slice(&file.name).trim_start_matches('/')),
        };
        let debug_file = file.debug_file.as_ref().map(|path| (debug_name(file, &binary, path), path));
        for (name, path) in std::iter::once((binary, &file.path)).chain(debug_file) {
            if is_inside(&name) && known.insert(name.clone()) {
                files.push((name, read(path)?));
            }
        }
    }
    Ok(files)
}

/// The folder of perf's cache for a build ID.
fn cached(build_id: &BuildId) -> String {
    let hex = build_id.to_string();
    let (first, rest) = hex.split_at(2.min(hex.len()));
    format!("{SYMFS}/.debug/.build-id/{first}/{rest}")
}

/// Where the debug file at `path` is found for a program that lies at `binary`: by the build ID that both hold, else in
/// the folder in which the program's debug link is looked for (`find_debuginfo` of elfutils).
fn debug_name(file: &UsedFile, binary: &str, path: &Path) -> String {
    if let Some(build_id) = file.build_id.as_ref().or(file.own_build_id.as_ref()) {
        return format!("{}/debug", cached(build_id));
    }
    let folder = binary.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    format!("{folder}/.debug/{name}")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let unreadable = || format!("{} cannot be read", path.display());
    let length = std::fs::metadata(path).map_err(Error::io(unreadable()))?.len();
    if length > LARGEST {
        return Err(Error::TooLarge { path: path.to_owned(), mib: length >> 20 });
    }
    std::fs::read(path).map_err(Error::io(unreadable()))
}
