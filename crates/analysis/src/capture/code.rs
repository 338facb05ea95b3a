//! Where a capture's code and names are looked for, and what was mapped when.

use std::path::Path;

use model::Tsc;
use perfdata::PerfData;
use symbols::{ProcessImages, SearchPath};

use crate::request::Code;

/// Where files are looked for.
pub(super) fn search_path(perf: &PerfData, code: &Code) -> SearchPath {
    SearchPath {
        symfs: code.symfs.clone(),
        vmlinux: code.vmlinux.clone(),
        kallsyms: code.kallsyms.clone(),
        kcore_dir: perf.kcore_dir().map(Path::to_path_buf),
        build_id_dir: None,
        debuginfod: (code.debuginfod || !code.contained) && has_servers(),
        contained: code.contained,
    }
}

fn has_servers() -> bool {
    std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty())
}

/// The mappings of the capture, and code and names for them.
pub(super) fn images(perf: &PerfData, search: SearchPath) -> ProcessImages {
    let conversion = perf.time_conversion();
    let events: Vec<_> = perf
        .map_events()
        .into_iter()
        .map(|(time, event)| {
            let at = conversion.filter(|_| time.0 != 0).map_or(Tsc(0), |conversion| conversion.to_tsc(time));
            (at, event)
        })
        .collect();
    let build_ids =
        perf.features().build_ids.iter().map(|known| (known.path.clone(), known.build_id.clone())).collect();
    ProcessImages::new(search, events, build_ids)
}
