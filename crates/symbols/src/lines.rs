//! Addresses of one file to source lines, inlined calls included.
//!
//! Input: a stated address. Output: frames, innermost first. Units whose lines lie in files of their own (split DWARF, DWARF 5
//! section 7.3) are read from a package beside the file (`.dwp`), else from where the file says (`.dwo`), as far as the search
//! allows. The DWARF reader is neither shared between threads nor cheap to open: one per image, under a lock.

mod declared;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{AbbreviationsCacheStrategy, Dwarf, DwarfPackage, Reader};
use object::Object;

use crate::dwarf::{Section, Sections};
use crate::elf::CodeFile;
use crate::file_bytes::FileBytes;
use crate::frame::Frame;
use crate::search::SearchPath;

/// More frames than any compiler inlines: a damaged file may claim an endless chain.
const MOST_FRAMES: usize = 256;

/// The line tables of one file.
pub(crate) struct Lines {
    tables: Mutex<Context<Section>>,
    split: Split,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    /// Opens the line tables of `file`, if it has any.
    pub(crate) fn open(file: &CodeFile, search: &SearchPath) -> Option<Lines> {
        if !file.has_lines() {
            return None;
        }
        let mut dwarf = load(&file.bytes)?;
        if let Some(supplement) = supplement_of(file, search) {
            let mut sections = Sections::of(&supplement.bytes)?;
            dwarf.load_sup(|id| sections.named(Some(id.name()))).ok()?;
        }
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let tables = Mutex::new(Context::from_dwarf(dwarf).ok()?);
        Some(Lines { tables, split: Split::of(file, search) })
    }

    /// The frames at a stated address; empty where the tables do not cover it.
    pub(crate) fn at(&self, svma: u64) -> Vec<Frame> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(mut found) = self.split.finished(tables.find_frames(svma)) else { return Vec::new() };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let place = frame.location.as_ref();
            frames.push(Frame {
                function: raw.map_or_else(String::new, |name| crate::demangle::demangle(&name)),
                file: place.and_then(|place| place.file).map(str::to_owned),
                line: place.and_then(|place| place.line).filter(|&line| line > 0),
                column: place.and_then(|place| place.column).filter(|&column| column > 0),
                inlined: true,
            });
            if frames.len() == MOST_FRAMES {
                break;
            }
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.inlined = false;
        }
        frames
    }
}

fn load(bytes: &Arc<FileBytes>) -> Option<Dwarf<Section>> {
    let mut sections = Sections::of(bytes)?;
    Dwarf::load(|id| sections.named(Some(id.name()))).ok()
}

/// The file that several debug files share (`dwz`), where it is there and is the right one.
fn supplement_of(file: &CodeFile, search: &SearchPath) -> Option<CodeFile> {
    let parsed = object::File::parse(&file.bytes[..]).ok()?;
    let (name, build_id) = parsed.gnu_debugaltlink().ok().flatten()?;
    let path = file.path.parent()?.join(OsStr::from_bytes(name));
    let found = CodeFile::open(&path).ok().filter(|_| search.admits(&path))?;
    (found.build_id.as_ref()?.bytes() == build_id).then_some(found)
}

/// Where the units of split DWARF are looked for.
struct Split {
    package: Option<Mutex<DwarfPackage<Section>>>,
    search: SearchPath,
}

impl Split {
    fn of(file: &CodeFile, search: &SearchPath) -> Split {
        Split { package: package_of(&file.path, search).map(Mutex::new), search: search.clone() }
    }

    /// What `lookup` finds with the units that it wants.
    fn finished<L: LookupContinuation<Buf = Section>>(&self, mut lookup: LookupResult<L>) -> L::Output {
        loop {
            match lookup {
                LookupResult::Output(found) => return found,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.unit(&load));
                }
            }
        }
    }

    /// The unit that `load` names; `None` where it is not here.
    fn unit(&self, load: &SplitDwarfLoad<Section>) -> Option<Arc<Dwarf<Section>>> {
        let packed = self.package.as_ref().and_then(|package| {
            let package = package.lock().unwrap_or_else(PoisonError::into_inner);
            package.find_cu(load.dwo_id, &load.parent).ok().flatten()
        });
        packed.or_else(|| self.own_file(load)).map(Arc::new)
    }

    fn own_file(&self, load: &SplitDwarfLoad<Section>) -> Option<Dwarf<Section>> {
        let mut named = PathBuf::new();
        for part in [&load.comp_dir, &load.path].into_iter().flatten() {
            named.push(OsStr::from_bytes(&part.to_slice().ok()?));
        }
        load.path.as_ref()?;
        let bytes = Arc::new(FileBytes::open(&self.search.named_by_code(&named)?).ok()?);
        let mut sections = Sections::of(&bytes)?;
        let mut dwarf = Dwarf::load(|id| sections.named(id.dwo_name())).ok()?;
        let header = dwarf.units().next().ok()??;
        let is_meant = dwarf.unit(header).ok()?.dwo_id == Some(load.dwo_id);
        dwarf.make_dwo(&load.parent);
        is_meant.then_some(dwarf)
    }
}

/// `app.dwp` beside `app`.
fn package_of(file: &Path, search: &SearchPath) -> Option<DwarfPackage<Section>> {
    let mut name = file.file_name()?.to_owned();
    name.push(".dwp");
    let path = file.with_file_name(name);
    let bytes = Arc::new(FileBytes::open(&path).ok().filter(|_| search.admits(&path))?);
    let mut sections = Sections::of(&bytes)?;
    let empty = sections.empty();
    DwarfPackage::load(|id| sections.named(id.dwo_name()), empty).ok()
}
