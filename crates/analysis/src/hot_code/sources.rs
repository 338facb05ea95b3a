//! Lines of source, where the files that line tables name are here.
//!
//! Input: frames of an address, and whether the file that they come from is known to be the recorded one. Output: the innermost
//! line, with its text where [`SourcePlaces`] finds the file. A line table can name any file of this machine, and reports are
//! handed on, so that of a file that anybody may have put there none is read unless the user named the directory; and of all
//! only files with the ending of a source, and only the lines that ran.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use report::SourceLine;
use symbols::Frame;

use crate::request::Code;

/// Larger files are no source that a person wrote.
const LARGEST_FILE: u64 = 8 << 20;
/// Characters of one line.
const LONGEST_LINE: usize = 240;
/// Endings of sources of languages that are compiled, before or while they run.
const ENDINGS: [&str; 37] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tcc", "rs", "go", "s",
    "S", "asm", "zig", "d", "f90", "swift", "java", "kt", "scala", "groovy", "clj", "js", "mjs", "cjs", "ts",
    "cs", "fs", "py", "rb", "php", "lua",
];

/// Where source files may be read.
#[derive(Clone, Debug, Default)]
pub struct SourcePlaces {
    /// `--source`: whatever the path of a file begins with, it may lie here.
    source: Option<PathBuf>,
    symfs: Option<PathBuf>,
    /// Whether the place that the line table names may serve.
    is_local: bool,
}

impl SourcePlaces {
    /// What a request allows.
    pub fn of(code: &Code) -> SourcePlaces {
        SourcePlaces { source: code.source.clone(), symfs: code.symfs.clone(), is_local: !code.contained }
    }

    /// The lines of the source `file`, as a line table names it. Of a table of a file that is not `verified` to be the recorded
    /// one only `--source` counts. `None` where the file is not here, is too large, or does not end as a source does.
    pub fn lines(&self, file: &str, verified: bool) -> Option<Vec<String>> {
        let path = without_steps(Path::new(file))?;
        let ending = path.extension()?.to_str()?;
        if !ENDINGS.contains(&ending) {
            return None;
        }
        let relative = path.strip_prefix("/").unwrap_or(&path);
        let named = self.source.iter().flat_map(|root| below(root, relative));
        let under = self.symfs.iter().map(|root| root.join(relative));
        let here = (self.is_local && path.has_root()).then(|| path.clone());
        let found = named.chain(under.chain(here).filter(|_| verified)).find(|path| is_small_file(path))?;
        let text = std::fs::read(found).ok()?;
        let cut = |line: &str| line.trim_end().chars().take(LONGEST_LINE).collect();
        Some(String::from_utf8_lossy(&text).lines().map(cut).collect())
    }
}

/// `root/a/b.c`, then `root/b.c` for `a/b.c`: the directory of the build may have had another name.
fn below<'a>(root: &'a Path, relative: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let mut rest = relative.components();
    std::iter::from_fn(move || {
        let path = rest.as_path().to_owned();
        rest.next().map(|_| root.join(path))
    })
}

/// The files that were requested so far.
pub(super) struct Sources {
    places: SourcePlaces,
    files: HashMap<(String, bool), Option<Vec<String>>>,
}

impl Sources {
    /// Nothing is read yet.
    pub(super) fn new(places: SourcePlaces) -> Sources {
        Sources { places, files: HashMap::new() }
    }

    /// The innermost line of `frames`, which come from a file that is, or is not, `verified` to be the recorded one.
    pub(super) fn line(&mut self, frames: &[Frame], verified: bool) -> Option<SourceLine> {
        let (file, number) = frames.iter().find_map(|frame| Some((frame.file.as_ref()?, frame.line?)))?;
        let key = (file.clone(), verified);
        let lines = self.files.entry(key).or_insert_with(|| self.places.lines(file, verified)).as_ref();
        let text = lines.and_then(|lines| lines.get(usize::try_from(number).ok()?.checked_sub(1)?)).cloned();
        Some(SourceLine { file: file.clone(), number, text })
    }
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
