//! Copies of a running kernel: `kcore`, `kallsyms` and `modules` in one folder.
//!
//! Input: the folder of a perf.data directory, or perf's cache. Output: whether the copy is of the recorded boot: an
//! address space layout of another boot would give wrong code for every address. perf makes the same check
//! (`tools/perf/util/symbol.c`, `validate_kcore_addresses`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use model::BuildId;

use crate::file_bytes::FileBytes;
use crate::kallsyms::Kallsyms;
use crate::recorded_kernel::RecordedKernel;
use crate::search::SearchPath;

/// The folders that may hold the recorded kernel, best first.
pub(crate) fn candidates(search: &SearchPath, build_id: Option<&BuildId>) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = search.kcore_dir.iter().cloned().collect();
    if let (Some(cache), Some(build_id)) = (search.cache(), build_id) {
        let of_kernel = cache.join("[kernel.kcore]").join(build_id.to_string());
        let entries = std::fs::read_dir(of_kernel).into_iter().flatten().flatten();
        let mut cached: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        cached.sort();
        dirs.extend(cached);
    }
    dirs
}

/// The first of the copy's files in `dir`, or that folder itself, that is a link: perf makes none, and a stranger's may lead
/// anywhere.
pub(crate) fn link_in(dir: &Path) -> Option<PathBuf> {
    let files = ["kcore", "kallsyms", "modules"].map(|name| dir.join(name));
    std::iter::once(dir.to_owned()).chain(files).find(|path| path.is_symlink())
}

/// Why the copy in `dir` is not of the recorded boot; `None` where nothing speaks against it.
pub(crate) fn disagreement(
    dir: &Path,
    list: Option<&Kallsyms>,
    recorded: RecordedKernel<'_>,
) -> Option<String> {
    if let Some((symbol, actual)) = recorded.reference() {
        let copied = list.and_then(|list| list.reference(symbol)).unwrap_or(actual);
        if copied != actual {
            return Some(format!("{symbol} lies at {copied:#x}, recorded at {actual:#x}"));
        }
    }
    let bytes = FileBytes::open(&dir.join("modules")).ok()?;
    let loaded = loaded_modules(&bytes);
    recorded.mappings.iter().find_map(|mapping| {
        let name = module_name(&mapping.path)?;
        let copied = *loaded.get(name.as_str())?;
        let actual = mapping.range.start;
        (copied != actual).then(|| format!("module {name} lies at {copied:#x}, recorded at {actual:#x}"))
    })
}

/// `virtio_ring` of `[virtio_ring]` or `/lib/modules/6.1/kernel/drivers/virtio/virtio-ring.ko.xz`.
fn module_name(path: &str) -> Option<String> {
    if let Some(name) = path.strip_prefix('[') {
        return name.strip_suffix(']').map(str::to_owned);
    }
    let file = path.rsplit('/').next()?;
    let (name, _) = file.split_once(".ko")?;
    Some(name.replace('-', "_"))
}

/// Addresses of modules by name: `NAME SIZE USES USERS STATE ADDRESS` (`/proc/modules`, proc(5)). Hidden ones are zero
/// and left out.
fn loaded_modules(file: &[u8]) -> HashMap<&str, u64> {
    let modules = file.split(|&byte| byte == b'\n').filter_map(loaded_module);
    modules.filter(|&(_, address)| address != 0).collect()
}

fn loaded_module(line: &[u8]) -> Option<(&str, u64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let name = fields.next()?;
    let address = fields.find_map(|field| field.strip_prefix("0x"))?;
    Some((name, u64::from_str_radix(address, 16).ok()?))
}

/// Whether `line` is one of `/proc/modules`.
pub(crate) fn is_module(line: &[u8]) -> bool {
    loaded_module(line).is_some()
}
