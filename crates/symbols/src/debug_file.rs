//! The separate file that holds a stripped binary's symbols and lines.
//!
//! Input: a binary. Output: its debug file, found by build ID (perf's cache, the system's folders, debuginfod) or by
//! debug link; elfutils does the search. A file with another build ID is never taken.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::BuildId;

use crate::elf::{CodeFile, same_build};
use crate::search::{CacheEntry, SearchPath};
use crate::sys;

/// Where distributions put debug files.
const SYSTEM_FOLDER: &str = "/usr/lib/debug";

/// The debug file of `binary`.
pub(crate) fn find(binary: &CodeFile, search: &SearchPath) -> Option<CodeFile> {
    let build_id = binary.build_id.as_ref();
    let cached = build_id.map(|id| search.cached(id, CacheEntry::Debug)).unwrap_or_default();
    for path in cached.into_iter().chain(build_id.and_then(|id| by_build_id(id, search))) {
        if let Some(file) = open_matching(&path, binary) {
            return Some(file);
        }
    }
    if search.contained
        && let Some(file) = linked(binary, search)
    {
        return Some(file);
    }
    // elfutils reads the binary's own debug information first.
    let has_name = build_id.is_some() || binary.has_debug_link;
    if !has_name || !may_ask_elfutils(search) || !binary.unpacks_within_bounds() {
        return None;
    }
    let found = sys::find_debug_file(&binary.path, &folders(search)?)?;
    open_matching(&found, binary).filter(|_| build_id.is_some() || search.admits(&found))
}

/// The debug file that `binary` names by debug link, beside it or in `.debug` beside it, and nowhere else.
fn linked(binary: &CodeFile, search: &SearchPath) -> Option<CodeFile> {
    let (name, crc) = binary.debug_link()?;
    let folder = binary.path.parent()?;
    let places = [folder.join(&name), folder.join(".debug").join(&name)];
    places.iter().filter(|path| path.is_file() && search.admits(path)).find_map(|path| {
        let file = open_matching(path, binary)?;
        let mut sum = flate2::Crc::new();
        sum.update(&file.bytes);
        (sum.sum() == crc).then_some(file)
    })
}

/// The binary itself, where only its build ID is known.
pub(crate) fn find_binary(build_id: &BuildId, search: &SearchPath) -> Option<PathBuf> {
    may_ask_elfutils(search).then(|| sys::find_elf(build_id.bytes(), &folders(search)?)).flatten()
}

/// The kernel's ELF file in perf's cache, or with symbols, as distributions' debug packages bring it.
pub(crate) fn local_kernel(build_id: &BuildId, search: &SearchPath) -> Option<CodeFile> {
    let cached = search.cached(build_id, CacheEntry::Elf).into_iter().filter(|path| path.is_file());
    cached.chain(by_build_id(build_id, search)).find_map(|path| open_with_id(&path, build_id))
}

/// The kernel's ELF file wherever elfutils finds it, servers included.
pub(crate) fn any_kernel(build_id: &BuildId, search: &SearchPath) -> Option<CodeFile> {
    open_with_id(&find_binary(build_id, search)?, build_id)
}

fn open_with_id(path: &Path, build_id: &BuildId) -> Option<CodeFile> {
    let file = CodeFile::open(path).ok()?;
    file.build_id.as_ref().is_some_and(|found| same_build(found, build_id)).then_some(file)
}

fn open_matching(path: &Path, binary: &CodeFile) -> Option<CodeFile> {
    let file = CodeFile::open(path).ok()?;
    (binary.build_id.is_none() || file.build_id == binary.build_id).then_some(file)
}

/// elfutils asks debuginfod by itself where the environment names servers, and follows names out of `symfs`; who does
/// not want that gets our own search of the folders only.
fn may_ask_elfutils(search: &SearchPath) -> bool {
    let has_servers = std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty());
    search.debuginfod || !has_servers && !search.contained
}

/// `.build-id/xx/yyyy.debug` in the folders of the recorded system and of this one.
fn by_build_id(build_id: &BuildId, search: &SearchPath) -> Option<PathBuf> {
    let hex = build_id.to_string();
    let name = PathBuf::from(".build-id").join(hex.get(..2)?).join(format!("{}.debug", hex.get(2..)?));
    debug_folders(search).into_iter().map(|folder| folder.join(&name)).find(|path| path.is_file())
}

fn debug_folders(search: &SearchPath) -> Vec<PathBuf> {
    let recorded = search.symfs.as_ref().map(|root| root.join(&SYSTEM_FOLDER[1..]));
    recorded.into_iter().chain((!search.contained).then(|| PathBuf::from(SYSTEM_FOLDER))).collect()
}

/// The search path in elfutils' notation: beside the binary, in `.debug` beside it, in the system's folders; each
/// candidate's CRC is checked (the leading `+`).
fn folders(search: &SearchPath) -> Option<CString> {
    let mut path = b"+:.debug".to_vec();
    for folder in debug_folders(search) {
        path.push(b':');
        path.extend_from_slice(folder.as_os_str().as_bytes());
    }
    CString::new(path).ok()
}

#[cfg(test)]
mod tests;
