//! Addresses to source lines, inlined calls included.
//!
//! Input: an address in a process. Output: frames, innermost first. The DWARF reader is neither shared between threads
//! nor cheap to open: one per image, behind a lock.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use addr2line::Loader;
use model::{Pid, Tsc};
use object::Object;

use crate::elf::CodeFile;
use crate::process_images::ProcessImages;
use crate::timeline::KERNEL_HALF;

/// More frames than any compiler inlines: a damaged file may claim an endless chain.
const MOST_FRAMES: usize = 256;

/// One function at an address: the one that was compiled there, or one inlined into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name, demangled; `[unknown]` where no file tells.
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
    fn at(&self, svma: u64) -> Vec<Frame> {
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

impl ProcessImages {
    /// The source lines of `address` in `pid`'s address space at `at`, innermost function first; one frame without a
    /// line where only a symbol is known, none where nothing is.
    pub fn lines(&self, pid: Pid, address: u64, at: Tsc) -> Vec<Frame> {
        let mut frames = self.recorded_lines(pid, address, at).unwrap_or_default();
        let symbol = self.function_at(pid, address, at).map(|function| function.name.to_string());
        if frames.is_empty() {
            frames.extend(symbol.map(|function| Frame {
                function,
                file: None,
                line: None,
                column: None,
                inlined: false,
            }));
            return frames;
        }
        // A line table without functions (assembly): the symbol names the outermost frame.
        if let Some(outermost) = frames.last_mut().filter(|frame| frame.function.is_empty()) {
            outermost.function = symbol.unwrap_or_default();
        }
        for frame in frames.iter_mut().filter(|frame| frame.function.is_empty()) {
            "[unknown]".clone_into(&mut frame.function);
        }
        frames
    }

    fn recorded_lines(&self, pid: Pid, address: u64, at: Tsc) -> Option<Vec<Frame>> {
        if address >= KERNEL_HALF {
            let (lines, slide) = self.kernel().lines()?;
            return Some(lines.at(address.wrapping_sub(slide)));
        }
        let piece = self.user_piece(pid, address, at)?;
        let svma = piece.image.code(&self.search)?.svma(piece.file_offset(address), &piece.mapped())?;
        Some(piece.image.lines(&self.search)?.at(svma))
    }
}
