//! Names of JIT code: `/tmp/perf-PID.map`.
//!
//! Input: lines `START SIZE NAME`, numbers in hexadecimal (`tools/perf/Documentation/jit-interface.txt`). Output: the
//! functions; where an address was used twice, the later one. The file holds no code and no time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use model::{Diagnostic, Mapping, Pid};

use crate::file_bytes::FileBytes;
use crate::image::ImageKind;
use crate::search::{SearchPath, beneath};
use crate::symbol_table::{Binding, RawSymbol, SymbolTable};
use crate::timeline::{KERNEL_HALF, Timelines};

/// Of a folder with more files than this the rest is not looked at.
const MOST_ENTRIES: usize = 1 << 16;

/// The names that one process wrote.
#[derive(Debug, Default)]
pub(crate) struct PerfMap {
    path: Option<PathBuf>,
    table: OnceLock<Option<SymbolTable>>,
}

impl PerfMap {
    fn at(path: Option<PathBuf>) -> PerfMap {
        PerfMap { path, table: OnceLock::new() }
    }

    /// The functions, read when first needed.
    pub(crate) fn table(&self) -> Option<&SymbolTable> {
        self.table.get_or_init(|| open(self.path.as_deref()?)).as_ref()
    }

    /// The file and its functions, if they were needed so far.
    pub(crate) fn opened(&self) -> Option<(&Path, &SymbolTable)> {
        Some((self.path.as_deref()?, self.table.get()?.as_ref()?))
    }
}

fn open(path: &Path) -> Option<SymbolTable> {
    let bytes = Arc::new(FileBytes::open_stored(path).ok()?.0);
    let functions = parse(&bytes);
    (!functions.is_empty()).then(|| SymbolTable::new(bytes, functions))
}

/// The list of each process, by its number; and what there is to say about those that lie elsewhere.
///
/// A process in a PID namespace names its list by the number that it has there, which no record holds. It is the one in the name of its
/// jitdump (`inner`). Else a list of no recorded process is that of the only process that made code and has none.
pub(crate) fn of_processes(
    timelines: &Timelines,
    inner: &BTreeMap<Pid, Pid>,
    search: &SearchPath,
) -> (Vec<(Pid, PerfMap)>, Vec<Diagnostic>) {
    let pids = timelines.pids();
    let mut places: BTreeMap<Pid, PathBuf> =
        pids.iter().filter_map(|&pid| Some((pid, path_of(pid, search)?))).collect();
    let mut notes = Vec::new();
    if let Some(root) = &search.symfs {
        let is_anonymous = |mapping: &&Mapping| {
            ImageKind::of(&mapping.path, mapping.range.start >= KERNEL_HALF) == ImageKind::Anonymous
        };
        let makers = timelines.mappings.iter().filter(is_anonymous).map(|mapping| mapping.pid);
        let mut makers: BTreeSet<Pid> = makers.collect();
        makers.retain(|pid| !places.get(pid).is_some_and(|path| path.is_file()));
        let is_recorded = |pid: &Pid| pids.binary_search(pid).is_ok();
        for (&pid, own) in inner.iter().filter(|(pid, own)| makers.contains(pid) && !is_recorded(own)) {
            places.extend(path_of(*own, search).filter(|path| path.is_file()).map(|path| (pid, path)));
        }
        makers.retain(|pid| !places.get(pid).is_some_and(|path| path.is_file()));
        if !makers.is_empty() {
            let of_none: Vec<PathBuf> = lists(root)
                .filter(|(pid, path)| !is_recorded(pid) && !places.values().any(|known| known == path))
                .map(|(_, path)| path)
                .collect();
            notes.extend(doubtful(&makers, &of_none, &mut places));
        }
    }
    (pids.into_iter().map(|pid| (pid, PerfMap::at(places.remove(&pid)))).collect(), notes)
}

/// Gives the only list of `of_none` to the only one of `makers`; what there is to say about that.
fn doubtful(
    makers: &BTreeSet<Pid>,
    of_none: &[PathBuf],
    places: &mut BTreeMap<Pid, PathBuf>,
) -> Option<Diagnostic> {
    let first = of_none.first()?;
    let (&pid, name) = (makers.first()?, first.display());
    if let ([_], 1) = (of_none, makers.len()) {
        places.insert(pid, first.clone());
        return Some(Diagnostic::note(format!(
            "{name}: no recorded process has this number; taken for the list of process {pid}, in a PID namespace of its own, which alone made \
             code and has none. Named perf-{pid}.map it is without doubt"
        )));
    }
    Some(Diagnostic::note(format!(
        "{name}{}: no recorded process has this number. Of a process in a PID namespace of its own it must be named by the number that is \
         recorded: perf-{pid}.map for process {pid}",
        if of_none.len() == 1 { String::new() } else { format!(" and {} more", of_none.len() - 1) }
    )))
}

/// The lists in the folder where they are looked for, in order of their numbers.
fn lists(root: &Path) -> impl Iterator<Item = (Pid, PathBuf)> {
    let entries = std::fs::read_dir(root.join("tmp")).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let list = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let pid = name.to_str()?.strip_prefix("perf-")?.strip_suffix(".map")?.parse().ok()?;
        entry.path().is_file().then(|| (Pid(pid), entry.path()))
    };
    entries.filter_map(list).collect::<BTreeMap<_, _>>().into_iter()
}

/// Its name on the recorded machine.
pub(crate) fn name_of(pid: Pid) -> String {
    format!("/tmp/perf-{pid}.map")
}

/// Where it is looked for here.
fn path_of(pid: Pid, search: &SearchPath) -> Option<PathBuf> {
    match &search.symfs {
        Some(root) => beneath(root, Path::new(&name_of(pid))),
        None => Some(PathBuf::from(name_of(pid))).filter(|_| !search.contained),
    }
}

/// The lines of `file` that name a function.
pub(crate) fn lines(file: &[u8]) -> Vec<u8> {
    let lines = file.split_inclusive(|&byte| byte == b'\n').filter(|line| symbol(line, 0).is_some());
    lines.flatten().copied().collect()
}

fn parse(file: &[u8]) -> Vec<RawSymbol> {
    let mut by_start = BTreeMap::new();
    let mut position = 0;
    for line in file.split_inclusive(|&byte| byte == b'\n') {
        if let Some(symbol) = symbol(line, position) {
            by_start.insert(symbol.start, symbol);
        }
        position += line.len();
    }
    by_start.into_values().collect()
}

/// The function of one line, which begins at `position` in the file.
fn symbol(line: &[u8], position: usize) -> Option<RawSymbol> {
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let (start, size, name) = (hex(fields.next()?)?, hex(fields.next()?)?, fields.next()?);
    let name_at = position + (line.len() - name.len());
    let length = name.trim_ascii_end().len();
    if length == 0 || size == 0 {
        return None;
    }
    Some(RawSymbol { start, size, name: name_at..name_at + length, binding: Binding::Global })
}

fn hex(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

#[cfg(test)]
mod tests;
