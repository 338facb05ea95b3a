//! What the address spaces held over time, for finding code bytes.

use std::collections::{HashMap, HashSet};

use model::{BuildId, MapEvent, Mapping, PerfTime, Pid, Tid};

use crate::features::FileBuildId;
use crate::ordered_records::Records;
use crate::record::{Mmap, Record};

/// `PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER`.
const KSYMBOL_UNREGISTER: u16 = 1;

/// The changes of address spaces in `records`, in their order; `build_ids` are those of the feature section.
pub(crate) fn events(records: Records<'_>, build_ids: &[FileBuildId]) -> Vec<(PerfTime, MapEvent)> {
    let build_ids = BuildIds::of(build_ids);
    let mut processes = Processes::default();
    let mut events = Vec::new();
    for record in records {
        let time = record.time.unwrap_or_default();
        let event = processes.follow(&record.record).or_else(|| map_event(&record.record, &build_ids));
        events.extend(event.map(|event| (time, event)));
    }
    events
}

/// The threads of each process, so that only the end of the last one ends the process.
#[derive(Default)]
struct Processes(HashMap<Pid, HashSet<Tid>>);

impl Processes {
    /// Follows births and ends; the end of a process where this record is it.
    fn follow(&mut self, record: &Record<'_>) -> Option<MapEvent> {
        match record {
            Record::Fork { thread, .. } | Record::Comm { thread, .. } => {
                self.0.entry(thread.pid).or_default().insert(thread.tid);
                None
            }
            Record::Exit { thread, .. } => {
                let threads = self.0.get_mut(&thread.pid)?;
                let was_last = threads.remove(&thread.tid) && threads.is_empty();
                was_last.then_some(MapEvent::Exit { pid: thread.pid, tid: thread.tid })
            }
            _ => None,
        }
    }
}

fn map_event(record: &Record<'_>, build_ids: &BuildIds<'_>) -> Option<MapEvent> {
    Some(match record {
        Record::Mmap(mmap) | Record::Mmap2(mmap) => MapEvent::Map(mapping(mmap, build_ids)?),
        Record::Fork { thread, parent, .. } if thread.pid != parent.pid => {
            MapEvent::Fork { parent: parent.pid, child: thread.pid }
        }
        // Whoever calls exec becomes the process' first thread: from another one it is a name, no new program.
        Record::Comm { thread, exec: true, .. } if thread.pid.0 == thread.tid.0 => {
            MapEvent::Exec { pid: thread.pid }
        }
        Record::Ksymbol { address, len, flags, name, .. } => MapEvent::KernelSymbol {
            range: *address..address.saturating_add(u64::from(*len)),
            name: String::from_utf8_lossy(name).into_owned(),
            removed: flags & KSYMBOL_UNREGISTER != 0,
        },
        Record::TextPoke { address, old_bytes, new_bytes } => MapEvent::TextPoke {
            address: *address,
            old_bytes: old_bytes.to_vec(),
            new_bytes: new_bytes.to_vec(),
        },
        _ => return None,
    })
}

fn mapping(mmap: &Mmap<'_>, build_ids: &BuildIds<'_>) -> Option<Mapping> {
    if !mmap.executable || mmap.len == 0 {
        return None;
    }
    let path = mmap.path_text().into_owned();
    let build_id = BuildId::new(mmap.build_id).or_else(|| build_ids.by_path(&path));
    let range = mmap.address..mmap.address.saturating_add(mmap.len);
    Some(Mapping {
        pid: mmap.thread.pid,
        range,
        file_offset: mmap.file_offset,
        path,
        build_id,
        inode: mmap.inode,
    })
}

/// Build ids of the feature section by path; `None` where files of two containers have one path: which process mapped which is not recorded.
struct BuildIds<'a>(HashMap<&'a str, Option<&'a BuildId>>);

impl<'a> BuildIds<'a> {
    fn of(files: &'a [FileBuildId]) -> BuildIds<'a> {
        // A guest's files have the pid of its monitor and are none of ours.
        let ours = files.iter().filter(|file| file.pid == Pid::KERNEL || file.pid.0 == 0);
        let mut by_path: HashMap<&str, Option<&BuildId>> = HashMap::new();
        for file in ours {
            let known = by_path.entry(&file.path).or_insert(Some(&file.build_id));
            *known = known.filter(|&known| *known == file.build_id);
        }
        BuildIds(by_path)
    }

    fn by_path(&self, path: &str) -> Option<BuildId> {
        // The kernel's mapping is named by its first symbol: [kernel.kallsyms]_text, _stext.
        let path = path.find(']').filter(|_| path.starts_with("[kernel")).map_or(path, |end| &path[..=end]);
        self.0.get(path).copied().flatten().cloned()
    }
}
