//! Addresses of one file to source lines, inlined calls included.
//!
//! Input: a stated address. Output: frames, innermost first. The DWARF reader is neither shared between threads
//! nor cheap to open: one per image, under a lock.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use addr2line::Loader;
use object::Object;

use crate::elf::CodeFile;

/// More frames than any compiler inlines: a damaged file may claim an endless chain.
const MOST_FRAMES: usize = 256;

/// One function at an address: the one that was compiled there, or one inlined into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, demangled; `[unknown]` where no file names it.
    pub function: String,
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// Whether it was inlined into the next frame.
    pub inlined: bool,
}

/// The line tables of one file.
pub(crate) struct Lines(Mutex<Loader>);

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    /// Opens the line tables of `file`, if it has any.
    pub(crate) fn open(file: &CodeFile) -> Option<Lines> {
        if !file.has_lines() {
            return None;
        }
        let supplement = supplement_of(file);
        Loader::new_with_sup(&*file.path, supplement).ok().map(|loader| Lines(Mutex::new(loader)))
    }

    /// The frames at a stated address; empty where the tables do not cover it.
    pub(crate) fn at(&self, svma: u64) -> Vec<Frame> {
        let loader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(mut found) = loader.find_frames(svma) else { return Vec::new() };
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

/// The file that several debug files share (`dwz`), where it is there and is the right one.
fn supplement_of(file: &CodeFile) -> Option<PathBuf> {
    let parsed = object::File::parse(&file.bytes[..]).ok()?;
    let (name, build_id) = parsed.gnu_debugaltlink().ok().flatten()?;
    let name = Path::new(std::str::from_utf8(name).ok()?);
    let path = file.path.parent()?.join(name);
    let found = CodeFile::open(&path).ok()?;
    (found.build_id.as_ref()?.bytes() == build_id).then_some(path)
}
