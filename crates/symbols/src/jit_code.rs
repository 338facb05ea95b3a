//! Puts the code of jitdumps into the address spaces.
//!
//! Input: map events in order of time, among them the mapping of a page of the dump that each runtime makes as a mark.
//! Output: instead of the mark a mapping for each function in the dump, from its time on. Only dumps with the TSC's
//! time can be used.

use std::collections::BTreeMap;
use std::path::Path;

use model::{Diagnostic, InodeId, MapEvent, Mapping, Pid, Tsc};

use crate::file_bytes::FileBytes;
use crate::jitdump::{self, Dump, MOST_LOADS};
use crate::search::SearchPath;

/// Adds the content of the dumps; returns their problems.
pub(crate) fn add(events: &mut Vec<(Tsc, MapEvent)>, search: &SearchPath) -> Vec<Diagnostic> {
    let mut marks = BTreeMap::new();
    events.retain(|(_, event)| match event {
        MapEvent::Map(mapping) if jitdump::is_path(&mapping.path) => {
            marks.insert((mapping.pid, mapping.path.clone()), mapping.inode);
            false
        }
        _ => true,
    });
    let mut notes = Vec::new();
    for ((pid, path), inode) in marks {
        match search.candidates(&path, None).into_iter().find(|file| file.is_file()) {
            Some(file) => add_dump(events, (pid, path, inode), &file, &mut notes),
            None => notes.push(Diagnostic::note(format!(
                "the jitdump {path} is not here: its code is a gap; copy it from the recorded machine and give --symfs"
            ))),
        }
    }
    events.sort_by_key(|(at, _)| *at);
    notes
}

fn add_dump(
    events: &mut Vec<(Tsc, MapEvent)>,
    (pid, path, inode): (Pid, String, Option<InodeId>),
    file: &Path,
    notes: &mut Vec<Diagnostic>,
) {
    let mut warn = |what: &str| notes.push(Diagnostic::warning(format!("{}: {what}", file.display())));
    let dump = match FileBytes::open_stored(file).map(|(bytes, _)| Dump::parse(&bytes)) {
        Ok(Ok(dump)) => dump,
        Ok(Err(error)) => return warn(&format!("{error}: its code is a gap")),
        Err(error) => return warn(&format!("{error}: its code is a gap")),
    };
    if !dump.is_tsc {
        warn(
            "its times are of CLOCK_MONOTONIC, without a conversion to the trace's clock: its code is a gap; let the \
             runtime write the TSC (JITDUMP_USE_ARCH_TIMESTAMP=1 if it uses perf's agent)",
        );
        return;
    }
    if let Some(at) = dump.broken_at {
        warn(&format!(
            "cut short or damaged at offset {at:#x}, or with more than {MOST_LOADS} functions: code after that is a gap"
        ));
    }
    events.extend(dump.loads.into_iter().map(|load| {
        let range = load.address..load.address + load.code.len() as u64;
        let (file_offset, path) = (load.code.start as u64, path.clone());
        (Tsc(load.time), MapEvent::Map(Mapping { pid, range, file_offset, path, build_id: None, inode }))
    }));
}

#[cfg(test)]
mod tests;
