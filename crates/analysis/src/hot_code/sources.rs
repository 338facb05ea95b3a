//! Lines of source, where the files that line tables name are here.
//!
//! Input: frames of an address. Output: the innermost line, with its text where the file lies under `--symfs` or at the
//! very place that the line table names. A line table can name any file of this machine, and reports are handed on, so
//! only files with the ending of a source are read, and only the lines that ran.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use report::SourceLine;
use symbols::Frame;

/// Larger files are no source that a person wrote.
const LARGEST_FILE: u64 = 8 << 20;
/// Characters of one line.
const LONGEST_LINE: usize = 240;
/// Endings of sources of compiled languages.
const ENDINGS: [&str; 22] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tcc", "rs", "go", "s",
    "S", "asm", "zig", "d", "f90", "swift",
];

/// The files that were requested so far.
pub(super) struct Sources {
    symfs: Option<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Nothing is read yet.
    pub(super) fn new(symfs: Option<&Path>) -> Sources {
        Sources { symfs: symfs.map(Path::to_owned), files: HashMap::new() }
    }

    /// The innermost line of `frames`.
    pub(super) fn line(&mut self, frames: &[Frame]) -> Option<SourceLine> {
        let (file, number) = frames.iter().find_map(|frame| Some((frame.file.as_ref()?, frame.line?)))?;
        if !self.files.contains_key(file) {
            self.files.insert(file.clone(), source_lines(file, self.symfs.as_deref()));
        }
        let lines = self.files.get(file)?.as_ref();
        let text = lines.and_then(|lines| lines.get(usize::try_from(number).ok()?.checked_sub(1)?)).cloned();
        Some(SourceLine { file: file.clone(), number, text })
    }
}

/// The lines of the source `file`, as a line table names it: beneath `symfs`, else at that very place. `None` where it is not
/// here, is too large, or does not end as a source does.
pub fn source_lines(file: &str, symfs: Option<&Path>) -> Option<Vec<String>> {
    let path = without_steps(Path::new(file))?;
    let ending = path.extension()?.to_str()?;
    if !ENDINGS.contains(&ending) {
        return None;
    }
    let under = symfs.map(|root| root.join(path.strip_prefix("/").unwrap_or(&path)));
    let found = under.into_iter().chain(path.has_root().then_some(path)).find(|path| is_small_file(path))?;
    let text = std::fs::read(found).ok()?;
    let cut = |line: &str| line.trim_end().chars().take(LONGEST_LINE).collect();
    Some(String::from_utf8_lossy(&text).lines().map(cut).collect())
}

fn is_small_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() <= LARGEST_FILE)
}

/// `a/b/../c` as `a/c`; `None` where it climbs above its beginning.
fn without_steps(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            _ => plain.push(part),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests;
