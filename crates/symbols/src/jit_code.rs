//! Puts the code of jitdumps into the address spaces.
//!
//! Input: map events in order of time, among them the mapping of a page of the dump that each runtime makes as a mark; how the
//! dumps' clock relates to the TSC. Output: instead of the mark a mapping for each function in the dump, from its time on. Where the
//! times of a dump are unknown, all of its code lies there from the mark on, and what was written last where several had one place.

mod beneath;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use model::{Diagnostic, InodeId, MapEvent, Mapping, Pid, Tsc};

use crate::file_bytes::FileBytes;
use crate::jitdump::{self, Dump, Load, MOST_LOADS};
use crate::search::SearchPath;

/// How `CLOCK_MONOTONIC`, in which runtimes stamp the records of a jitdump, relates to the TSC.
#[derive(Clone, Copy)]
pub struct Monotonic<'a> {
    /// The TSC at a time in nanoseconds; a later time never has an earlier one.
    pub tsc: &'a dyn Fn(u64) -> Tsc,
    /// What relates them, and how exactly, for people.
    pub how: &'a str,
}

/// A process wrote a dump.
struct Mark {
    pid: Pid,
    path: String,
    inode: Option<InodeId>,
    /// Since when, at the latest.
    at: Tsc,
}

/// What there is to say about the dumps.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) notes: Vec<Diagnostic>,
    /// Whether times of one are of `CLOCK_MONOTONIC`.
    pub(crate) is_monotonic: bool,
    /// The numbers that processes call themselves in a PID namespace of their own, by the names of their dumps.
    pub(crate) inner: BTreeMap<Pid, Pid>,
}

/// Adds the content of the dumps. `monotonic` is why their clock is unknown, where it is.
pub(crate) fn add(
    events: &mut Vec<(Tsc, MapEvent)>,
    search: &SearchPath,
    monotonic: Result<Monotonic<'_>, &str>,
) -> Read {
    let mut read = Read::default();
    let mut added = Vec::new();
    let mut marks = BTreeMap::new();
    for mark in take_marks(events) {
        read.inner
            .extend(jitdump::pid_of(&mark.path).filter(|&own| own != mark.pid).map(|own| (mark.pid, own)));
        match search.candidates(&mark.path, None).into_iter().find(|file| file.is_file()) {
            Some(file) => {
                let code = code_of(&mark, &file, monotonic, &mut read);
                if !code.is_empty() {
                    marks.entry(mark.pid).or_insert(mark.at);
                }
                added.extend(code);
            }
            None => read.notes.push(Diagnostic::note(format!(
                "the jitdump {} is not here: its code is a gap; copy it from the recorded machine and give --symfs",
                mark.path
            ))),
        }
    }
    beneath::lay(events, &marks);
    events.extend(added);
    events.sort_by_key(|(at, _)| *at);
    read
}

/// Takes the marks out of `events`: of each dump the first one.
fn take_marks(events: &mut Vec<(Tsc, MapEvent)>) -> Vec<Mark> {
    let (mut marks, mut known) = (Vec::new(), HashSet::new());
    events.retain(|(at, event)| match event {
        MapEvent::Map(mapping) if jitdump::is_path(&mapping.path) => {
            let Mapping { pid, path, inode, .. } = mapping.clone();
            if known.insert((pid, path.clone())) {
                marks.push(Mark { pid, path, inode, at: *at });
            }
            false
        }
        _ => true,
    });
    marks
}

fn code_of(
    mark: &Mark,
    file: &Path,
    monotonic: Result<Monotonic<'_>, &str>,
    read: &mut Read,
) -> Vec<(Tsc, MapEvent)> {
    let name = file.display();
    let Read { notes, is_monotonic, .. } = read;
    let mut warn = |what: &str| notes.push(Diagnostic::warning(format!("{name}: {what}")));
    let dump = match FileBytes::open_stored(file).map(|(bytes, _)| Dump::parse(&bytes)) {
        Ok(Ok(dump)) => dump,
        Ok(Err(error)) => {
            warn(&format!("{error}: its code is a gap"));
            return Vec::new();
        }
        Err(error) => {
            warn(&format!("{error}: its code is a gap"));
            return Vec::new();
        }
    };
    if let Some(at) = dump.broken_at {
        warn(&format!(
            "cut short or damaged at offset {at:#x}, or with more than {MOST_LOADS} functions: code after that is a gap"
        ));
    }
    *is_monotonic |= !dump.is_tsc;
    match monotonic {
        _ if dump.is_tsc => {}
        Ok(Monotonic { how, .. }) => {
            notes.push(Diagnostic::note(format!("{name}: its times are of CLOCK_MONOTONIC; {how}")));
        }
        Err(why) => warn(&unknown_times(&dump, why)),
    }
    let since = |load: &Load| match monotonic {
        _ if dump.is_tsc => Tsc(load.time),
        // The process was there before its dump: an earlier time is the conversion's error.
        Ok(Monotonic { tsc, .. }) => tsc(load.time).max(mark.at),
        Err(_) => mark.at,
    };
    let mapping = |load: &Load| Mapping {
        pid: mark.pid,
        range: load.range(),
        file_offset: load.code.start as u64,
        path: mark.path.clone(),
        build_id: None,
        inode: mark.inode,
    };
    dump.loads.iter().map(|load| (since(load), MapEvent::Map(mapping(load)))).collect()
}

fn unknown_times(dump: &Dump, why: &str) -> String {
    let doubt = match (beneath::hidden(&dump.loads), dump.loads.len()) {
        (0, all) => format!("none of its {all} functions lay where another one came"),
        (hidden, all) => format!(
            "{hidden} of its {all} functions lay where another one came later, and where they ran the flow breaks off or has wrong \
             names"
        ),
    };
    format!(
        "when its code was written is unknown ({why}): its times are of CLOCK_MONOTONIC. The code is used by its address alone, the \
         last one where several had one place: {doubt}. `tailtrace record` writes the clock pairs that are missing"
    )
}

#[cfg(test)]
mod tests;
