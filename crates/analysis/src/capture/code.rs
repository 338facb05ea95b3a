//! Where a capture's code and names are looked for, and what was mapped when.

use std::path::{Path, PathBuf};

use intervals::{Clock, ClockPair, Clocks, Join};
use model::{Diagnostic, Tsc};
use perfdata::{PerfData, companion};
use symbols::{Monotonic, ProcessImages, SearchPath, code_copies};

use super::clock_pairs::clock_of;

use crate::request::Code;

/// Where files are looked for.
pub(super) fn search_path(perf: &PerfData, code: &Code) -> SearchPath {
    SearchPath {
        symfs: code.symfs.clone(),
        vmlinux: code.vmlinux.clone(),
        kallsyms: code.kallsyms.clone(),
        kcore_dir: perf.kcore_dir().map(Path::to_path_buf),
        code_copies: Some(companion(perf.path(), code_copies::NAME)).filter(|path| path.is_file()),
        recorded_since: recorded_since(perf),
        build_id_dir: None,
        debuginfod: (code.debuginfod || !code.contained) && has_servers(),
        contained: code.contained,
        mapped_since: code.mapped_since,
    }
}

/// Copies of code may have been seen so much before the first record: a slice has few.
const BEFORE_NS: u64 = 60_000_000_000;

fn recorded_since(perf: &PerfData) -> Option<Tsc> {
    let (range, conversion) = (perf.tsc_range()?, perf.time_conversion()?);
    Some(range.start.before(conversion.ns_to_ticks(BEFORE_NS)))
}

fn has_servers() -> bool {
    std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty())
}

/// The mappings of the capture, and code and names for them. `pairs` relate the times of jitdumps with the TSC.
pub(super) fn images(perf: &PerfData, search: SearchPath, pairs: Vec<ClockPair>) -> ProcessImages {
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
    let clocks = Clocks { conversion, of_records: clock_of(perf), pairs };
    let join = clocks.join(Clock::Monotonic).map_err(|error| error.to_string());
    let how = join.as_ref().map(how_related).unwrap_or_default();
    let tsc = |time| join.as_ref().map_or(Tsc(0), |join| join.nearest(time));
    let monotonic = join.as_ref().map(|_| Monotonic { tsc: &tsc, how: &how }).map_err(String::as_str);
    ProcessImages::with_clock(search, events, build_ids, monotonic)
}

fn how_related(join: &Join) -> String {
    match join.limits() {
        None => "so are those of the records".to_owned(),
        Some(_) => format!(
            "clock pairs relate them to the TSC, within {} ns; code from before the first or after the last pair is placed by the \
             line through both",
            join.bound_ns()
        ),
    }
}

/// A note where names come from debug files of this machine although the user said where the recorded files lie.
pub(super) fn debug_files_of_this_machine(
    images: &ProcessImages,
    symfs: Option<&Path>,
) -> Option<Diagnostic> {
    let symfs = symfs?;
    let files = images.used_files().into_iter();
    let debug_files = files.filter_map(|file| Some((file.name, file.debug_file?.path)));
    outside(debug_files.collect(), symfs)
}

/// `debug_files`: the recorded name of each file, and where its debug file lies.
fn outside(mut debug_files: Vec<(String, PathBuf)>, symfs: &Path) -> Option<Diagnostic> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(symfs);
    debug_files.retain(|(_, path)| !path.starts_with(symfs) && !real(path).starts_with(&root));
    let (name, path) = debug_files.first()?;
    let others = match debug_files.len() - 1 {
        0 => String::new(),
        count => format!(", and those of {count} more from such files"),
    };
    Some(Diagnostic::note(format!(
        "--symfs has no debug file for {name}: its names and lines come from {} of this machine{others}",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_files_outside_of_the_symfs_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, link) = (folder.path().join("root"), folder.path().join("link"));
        std::fs::create_dir(&root).expect("made");
        std::os::unix::fs::symlink(&root, &link).expect("linked");
        std::fs::write(root.join("app.debug"), "").expect("written");
        let file = |name: &str, path: PathBuf| (name.to_owned(), path);
        let within = || file("/bin/app", root.join("app.debug"));
        let system = |name: &str| file(name, PathBuf::from("/usr/lib/debug/no/such.debug"));
        assert_eq!(outside(vec![within()], &root), None);
        assert_eq!(outside(vec![within()], &link), None);
        assert_eq!(outside(Vec::new(), &root), None);
        let said = |files| outside(files, &link).expect("a note").what;
        let one = "--symfs has no debug file for /bin/server: its names and lines come from \
                   /usr/lib/debug/no/such.debug of this machine";
        assert_eq!(said(vec![within(), system("/bin/server")]), one);
        let two = format!("{one}, and those of 1 more from such files");
        assert_eq!(said(vec![system("/bin/server"), system("/lib/libc.so")]), two);
    }
}
