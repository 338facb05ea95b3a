//! Where the files that a recording names may lie on this machine.
//!
//! Input: a recorded path and build ID. Output: candidate paths, best first. With `symfs` nothing outside of it is
//! looked at, except what a build ID identifies; the rules are perf's (`tools/perf/util/dso.c`).

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use model::{BuildId, Tsc};

/// Where to look for binaries and symbols; the names follow perf's options.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// `--symfs`: the folder under which the recorded paths lie. Without it they are taken as they are.
    pub symfs: Option<PathBuf>,
    /// `-k`, `--vmlinux`: the kernel's ELF file.
    pub vmlinux: Option<PathBuf>,
    /// `--kallsyms`: the kernel's symbol list.
    pub kallsyms: Option<PathBuf>,
    /// The `kcore_dir` of a perf.data directory: `kcore`, `kallsyms`, `modules`.
    pub kcore_dir: Option<PathBuf>,
    /// The copies of code that lay in no file ([`crate::code_copies`]), of the capture.
    pub code_copies: Option<PathBuf>,
    /// When the recording began, or some time before: copies that were all seen earlier are of another one.
    pub recorded_since: Option<Tsc>,
    /// perf's build-ID cache; by default `.debug` under `symfs`, or without one under the home folder.
    pub build_id_dir: Option<PathBuf>,
    /// Whether to ask the servers of `DEBUGINFOD_URLS` for what is not here.
    pub debuginfod: bool,
    /// Nothing of this machine outside of `symfs` serves, whatever the files in there name: for a bundle, which brings all
    /// that it needs. Without `symfs` then no file serves but the ones named above.
    pub contained: bool,
    /// Only where the recording is known to be this machine's own: since when, at the latest, its mappings were there. A mapping that perf read
    /// from `/proc/PID/maps` has no generation of its inode; then a file that was not changed since this time is the recorded one
    /// if it has the device and inode.
    pub mapped_since: Option<SystemTime>,
}

/// What is looked for in the build-ID cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheEntry {
    /// The file itself.
    Elf,
    /// Its debug file.
    Debug,
    /// The kernel's symbol list.
    Kallsyms,
    /// The vDSO.
    Vdso,
}

impl SearchPath {
    /// Where the file that was recorded as `path` may lie.
    pub(crate) fn candidates(&self, path: &str, build_id: Option<&BuildId>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let is_vdso = path == "[vdso]";
        match &self.symfs {
            Some(root) => {
                found.extend(beneath(root, path));
                found.extend(beneath(root, Path::new(path).file_name().unwrap_or(OsStr::new(""))));
            }
            None if !is_vdso && !self.contained => found.push(PathBuf::from(path)),
            None => {}
        }
        // The kernel's word for a file that was removed or replaced while mapped: what has the name now may be another.
        if let (Some(before), Some(_)) = (path.strip_suffix(" (deleted)"), build_id) {
            found.extend(self.candidates(before, None));
        }
        if is_vdso {
            found.extend(self.kcore_dir.as_ref().map(|dir| dir.join("[vdso]")));
        }
        if let Some(build_id) = build_id {
            let entry = if is_vdso { CacheEntry::Vdso } else { CacheEntry::Elf };
            found.extend(self.cached(build_id, entry));
        }
        let mut found: Vec<PathBuf> = found.into_iter().map(spelled).collect();
        found.dedup();
        found
    }

    /// The place of `build_id` in perf's cache: `.build-id/xx/yyyy/elf`, or the older link to the file itself.
    pub(crate) fn cached(&self, build_id: &BuildId, entry: CacheEntry) -> Vec<PathBuf> {
        let Some(cache) = self.cache() else { return Vec::new() };
        let hex = build_id.to_string();
        let (Some(first), Some(rest)) = (hex.get(..2), hex.get(2..)) else { return Vec::new() };
        let link = cache.join(".build-id").join(first).join(rest);
        let name = match entry {
            CacheEntry::Elf => "elf",
            CacheEntry::Debug => "debug",
            CacheEntry::Kallsyms => "kallsyms",
            CacheEntry::Vdso => "vdso",
        };
        let mut places = vec![link.join(name)];
        if entry != CacheEntry::Debug {
            places.push(link);
        }
        places
    }

    /// perf's build-ID cache.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        let beside_home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug"));
        match (&self.build_id_dir, &self.symfs) {
            (Some(dir), _) => Some(dir.clone()),
            (None, Some(symfs)) => Some(symfs.join(".debug")),
            (None, None) => beside_home().filter(|_| !self.contained),
        }
    }

    /// Whether the file at `path` lies in a folder that the user named, or that belongs to the capture.
    pub(crate) fn is_given(&self, path: &Path) -> bool {
        [&self.symfs, &self.kcore_dir].into_iter().flatten().any(|root| is_beneath(path, root))
    }

    /// Whether the file at `path`, which another file named, may serve.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        !self.contained || self.symfs.as_ref().is_some_and(|root| is_beneath(path, root))
    }

    /// Where a file lies that debug information names by its path on the machine of the compiler: beneath `symfs`, else
    /// at that very place.
    pub(crate) fn named_by_code(&self, path: &Path) -> Option<PathBuf> {
        let under = self.symfs.as_ref().and_then(|root| beneath(root, path));
        let here = (!self.contained && path.is_absolute()).then(|| path.to_owned());
        under.into_iter().chain(here).find(|path| path.is_file() && self.admits(path))
    }
}

/// `path` under `root`; `None` where it would climb out of it.
pub(crate) fn beneath(root: &Path, path: impl AsRef<Path>) -> Option<PathBuf> {
    let mut joined = root.to_owned();
    let mut is_empty = true;
    for part in path.as_ref().components() {
        match part {
            Component::Normal(name) => {
                joined.push(name);
                is_empty = false;
            }
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!is_empty).then_some(joined)
}

/// Whether the file at `path` lies beneath `root`, links followed.
fn is_beneath(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// What stands for bytes that are no UTF-8 in the paths that come here: Linux takes any bytes for a name.
const NO_TEXT: char = '\u{fffd}';
/// A folder with more files than this is not searched.
const MOST_ENTRIES: usize = 1 << 16;

/// The file whose path is shown as `path`, where it holds bytes that are no UTF-8; `path` itself where there is none, or
/// more than one.
fn spelled(path: PathBuf) -> PathBuf {
    let is_text = path.to_str().is_none_or(|text| !text.contains(NO_TEXT));
    if is_text || path.exists() {
        return path;
    }
    let mut found = PathBuf::new();
    for part in path.components() {
        let literal = found.join(part);
        found = if literal.exists() { literal } else { only_entry(&found, part).unwrap_or(literal) };
    }
    found
}

/// The one entry of `folder` that is shown as `part`.
fn only_entry(folder: &Path, part: Component<'_>) -> Option<PathBuf> {
    let shown = part.as_os_str().to_str().filter(|shown| shown.contains(NO_TEXT))?;
    let entries = std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten();
    let mut alike = entries.filter(|entry| entry.file_name().to_string_lossy() == shown);
    let only = alike.next()?;
    alike.next().is_none().then(|| only.path())
}

#[cfg(test)]
mod tests;
