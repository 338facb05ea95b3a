//! Names of files from records: what is mapped at an address, what a descriptor refers to.

use std::sync::Arc;

use model::{ThreadId, TimeConversion, Tsc};
use perfdata::{FilePlace, PerfData};

/// Names files. Implemented over the records of a capture, and by hand-written tables in tests.
pub(crate) trait Files: Sync {
    /// The file that `thread` had mapped at `address` at `at`, and the offset in it.
    fn mapped(&self, thread: ThreadId, address: u64, at: Tsc) -> Option<FilePlace>;

    /// The path by which the process of `thread` opened what its `descriptor` referred to at `at`.
    fn opened(&self, thread: ThreadId, descriptor: u32, at: Tsc) -> Option<Arc<str>>;
}

/// No file is known.
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn mapped(&self, _: ThreadId, _: u64, _: Tsc) -> Option<FilePlace> {
        None
    }

    fn opened(&self, _: ThreadId, _: u32, _: Tsc) -> Option<Arc<str>> {
        None
    }
}

/// What a capture's records show.
pub(crate) struct RecordedFiles<'a> {
    pub(crate) perf: &'a PerfData,
    pub(crate) conversion: TimeConversion,
}

impl Files for RecordedFiles<'_> {
    fn mapped(&self, thread: ThreadId, address: u64, at: Tsc) -> Option<FilePlace> {
        self.perf.mapped_file(thread.pid, address, self.conversion.to_perf_time(at))
    }

    fn opened(&self, thread: ThreadId, descriptor: u32, at: Tsc) -> Option<Arc<str>> {
        self.perf.opened_file(thread.pid, descriptor, self.conversion.to_perf_time(at))
    }
}

/// `address 0x7f0000002000 in /srv/db+0x2000`, of `thread`.
pub(crate) fn tell_address(files: &dyn Files, thread: Option<ThreadId>, address: u64, at: Tsc) -> String {
    let file = thread.and_then(|thread| files.mapped(thread, address, at));
    let place = file.map_or_else(String::new, |file| format!(" in {file}"));
    format!("address {address:#x}{place}")
}
