//! The files that served for code and names, as a bundle keeps them: by build ID in perf's layout where the recording
//! has it, else by their recorded path.
//!
//! A capture may come from a stranger, and names any file of this machine as code that ran. So only what is code by its own
//! format is packed, and only if something else than its path shows that it is the recorded file, or the user vouches for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use model::BuildId;
use symbols::{Identity, UsedFile, UsedKind};

use super::layout::{Content, SYMFS};
use super::unpack::is_inside;
use crate::error::{Error, Result};
use crate::slice::Slice;

/// Larger files are no program of anybody's.
const LARGEST: usize = 2 << 30;

/// Which of the files that served are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// None.
    Nothing,
    /// Those that are known to be the recorded ones.
    Verified,
    /// Also those of which only the path says so.
    Unverified,
}

/// What was packed, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The files in the bundle.
    pub files: Vec<PackedFile>,
    /// The files that served and are not in it.
    pub left_out: Vec<LeftOut>,
}

/// A file that was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedFile {
    /// Its path in the bundle.
    pub path: String,
    /// Where it came from.
    pub from: String,
    /// What shows that it is the recorded one.
    pub identity: Identity,
}

/// A file that served and was not packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it lies.
    pub path: String,
    /// Why.
    pub why: Why,
}

/// Why a file was not packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is no program, jitdump or perf map.
    NoCode,
    /// Only its path says that it is the recorded file.
    Unverified,
    /// Its name would lead out of the bundle.
    Outside,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::NoCode => "no program: it is no ELF file with code",
            Why::Unverified => {
                "the recording has no build ID for it, and it is not the recorded inode: \
                 --pack-unverified packs it, --symfs DIR vouches for all in DIR"
            }
            Why::Outside => "its name leads out of the bundle",
        })
    }
}

impl fmt::Display for Packed {
    /// One line for each file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PackedFile { from, identity, .. } in &self.files {
            writeln!(f, "packed: {from} ({})", shown(*identity))?;
        }
        for LeftOut { path, why } in &self.left_out {
            writeln!(f, "left out: {path} ({why})")?;
        }
        Ok(())
    }
}

/// What shows that a file is the recorded one, for people and for the manifest.
pub(super) fn shown(identity: Identity) -> &'static str {
    match identity {
        Identity::BuildId => "build ID",
        Identity::Given => "--symfs",
        Identity::Inode => "device and inode",
        _ => "unverified",
    }
}

/// The contents of the files that served, as far as `packing` allows, and the list of them.
///
/// # Errors
/// Where one is too large.
pub(super) fn contents(slice: &Slice, packing: Packing) -> Result<(Vec<Content>, Packed)> {
    let (mut files, mut packed) = (Vec::new(), Packed::default());
    if packing == Packing::Nothing {
        return Ok((files, packed));
    }
    if let Some(names) = &slice.kernel_names {
        files.push((format!("{}/kallsyms", cached(&names.build_id)), names.text.clone().into_bytes()));
    }
    let mut known = BTreeSet::new();
    for file in &slice.files {
        let binary = binary_name(slice, file);
        let mut add = |name: String, from: &Path, identity, bytes: &[u8], is_code: bool| -> Result<()> {
            let from_shown = slice.origin(&file.name, from);
            let why = match identity {
                _ if !is_code => Some(Why::NoCode),
                Identity::Unknown if packing != Packing::Unverified => Some(Why::Unverified),
                _ if !is_inside(&name) => Some(Why::Outside),
                _ => None,
            };
            if let Some(why) = why {
                packed.left_out.push(LeftOut { path: from_shown, why });
            } else if known.insert(name.clone()) {
                ensure_size(from, bytes.len())?;
                packed.files.push(PackedFile { path: name.clone(), from: from_shown, identity });
                files.push((name, bytes.to_vec()));
            }
            Ok(())
        };
        let is_code = file.kind != UsedKind::Other;
        add(binary.clone(), &file.path, file.identity, &file.contents(), is_code)?;
        if let Some(debug_file) = file.debug_file.as_ref().filter(|_| is_code) {
            let name = debug_name(file, &binary, &debug_file.path);
            add(name, &debug_file.path, debug_file.identity, debug_file.contents(), true)?;
        }
    }
    Ok((files, packed))
}

fn binary_name(slice: &Slice, file: &UsedFile) -> String {
    match &file.build_id {
        // The name under which the cache keeps the vDSO.
        Some(id) => format!("{}/{}", cached(id), if file.name == "[vdso]" { "vdso" } else { "elf" }),
        // Found by the number of its process, whatever the recording's names were replaced by.
        None if file.kind == UsedKind::PerfMap => format!("{SYMFS}{}", file.name),
        None => format!("{SYMFS}/{}", slice.name_in_slice(&file.name).trim_start_matches('/')),
    }
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

fn ensure_size(path: &Path, length: usize) -> Result<()> {
    if length > LARGEST {
        return Err(Error::TooLarge { path: path.to_owned(), mib: (length >> 20) as u64 });
    }
    Ok(())
}
