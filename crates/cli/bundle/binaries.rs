//! The files that served for code and names, as a bundle keeps them: by build ID in perf's layout where the recording
//! tells it, else by their recorded path.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::unpack::is_inside;
use super::{Content, SYMFS};
use crate::slice::Slice;

/// Larger files are no program of anybody's.
const LARGEST: u64 = 2 << 30;

/// Their contents; a name that would lead out of the bundle is left out.
pub(super) fn contents(slice: &Slice) -> Result<Vec<Content>> {
    let mut files = Vec::new();
    let mut known = BTreeSet::new();
    for file in &slice.files {
        let (binary, debug_file) = match &file.build_id {
            Some(build_id) => {
                let hex = build_id.to_string();
                let (first, rest) = hex.split_at(2.min(hex.len()));
                let folder = format!("{SYMFS}/.debug/.build-id/{first}/{rest}");
                // The name under which the cache keeps the vDSO.
                let name = if file.name == "[vdso]" { "vdso" } else { "elf" };
                (format!("{folder}/{name}"), Some(format!("{folder}/debug")))
            }
            None => (format!("{SYMFS}/{}", slice.name_in_slice(&file.name).trim_start_matches('/')), None),
        };
        let pairs = [(Some(binary), Some(&file.path)), (debug_file, file.debug_file.as_ref())];
        for (name, path) in pairs {
            let (Some(name), Some(path)) = (name, path) else { continue };
            if is_inside(&name) && known.insert(name.clone()) {
                files.push((name, read(path)?));
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let unreadable = || format!("{} cannot be read", path.display());
    let length = std::fs::metadata(path).with_context(unreadable)?.len();
    ensure!(length <= LARGEST, "{} has {} MiB: use --no-binaries", path.display(), length >> 20);
    std::fs::read(path).with_context(unreadable)
}
