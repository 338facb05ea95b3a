//! Code from files under a root, mapped as the capture's records say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use model::{CodeBytes, CodeEpoch, CodeSection, PerfTime, Pid, Tsc};

use super::container::{Capture, MapRecord};

struct Space {
    /// Sections from a time on; the last that has begun is valid.
    epochs: Vec<(Tsc, Arc<[CodeSection]>)>,
}

/// Code bytes for a capture.
pub struct FileCode {
    spaces: BTreeMap<i32, Space>,
    kernel: Arc<[CodeSection]>,
    pokes: Vec<(Tsc, u64, Vec<u8>)>,
    files: Mutex<BTreeMap<PathBuf, Arc<Vec<u8>>>>,
}

impl FileCode {
    /// `root` is what stock perf takes as `--symfs`; `kcore` an ELF core whose segments are the kernel.
    pub fn new(capture: &Capture, root: &Path, kcore: Option<&Path>) -> FileCode {
        let kernel = kcore.map(kcore_sections).unwrap_or_default();
        let tsc = |time| capture.conversion.map_or(Tsc(0), |conversion| conversion.to_tsc(PerfTime(time)));
        let pokes: Vec<_> = capture
            .maps
            .iter()
            .filter_map(|(time, record)| match record {
                MapRecord::Poke { address, new } => Some((tsc(*time), *address, new.clone())),
                _ => None,
            })
            .collect();
        let kernel = punch_holes(kernel, &pokes);
        let mut maps: BTreeMap<i32, Vec<CodeSection>> = BTreeMap::new();
        let mut spaces: BTreeMap<i32, Space> = BTreeMap::new();
        for (time, record) in &capture.maps {
            let pid = apply(record, &mut maps, root);
            if let Some(pid) = pid {
                let mut sections = maps.get(&pid).cloned().unwrap_or_default();
                sections.extend(kernel.iter().cloned());
                sections.sort_by_key(|section| section.range.start);
                spaces
                    .entry(pid)
                    .or_insert(Space { epochs: Vec::new() })
                    .epochs
                    .push((tsc(*time), sections.into()));
            }
        }
        FileCode { spaces, kernel: kernel.into(), pokes, files: Mutex::default() }
    }

    fn file(&self, path: &Path) -> Arc<Vec<u8>> {
        let mut files = self.files.lock().expect("no panic");
        files
            .entry(path.to_owned())
            .or_insert_with(|| Arc::new(std::fs::read(path).unwrap_or_default()))
            .clone()
    }
}

fn apply(record: &MapRecord, maps: &mut BTreeMap<i32, Vec<CodeSection>>, root: &Path) -> Option<i32> {
    match record {
        MapRecord::Map { pid, start, length, file_offset, path } if *pid >= 0 => {
            let file = root.join(path.trim_start_matches('/'));
            let size = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
            let end = start + (*length).min(size.saturating_sub(*file_offset));
            let sections = maps.entry(*pid).or_default();
            sections.retain(|section| section.range.end <= *start || section.range.start >= start + length);
            if end > *start {
                sections.push(CodeSection {
                    range: *start..end,
                    file: Arc::new(file),
                    file_offset: *file_offset,
                });
            }
            Some(*pid)
        }
        MapRecord::Fork { parent, child } => {
            let copy = maps.get(parent).cloned().unwrap_or_default();
            maps.insert(*child, copy);
            Some(*child)
        }
        MapRecord::Exec { pid } => {
            maps.insert(*pid, Vec::new());
            Some(*pid)
        }
        _ => None,
    }
}

fn kcore_sections(path: &Path) -> Vec<CodeSection> {
    let bytes = std::fs::read(path).expect("a kcore");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let count = usize::from(u16::from_le_bytes([bytes[56], bytes[57]]));
    let table = usize::try_from(word(32)).expect("an offset");
    let file = Arc::new(path.to_owned());
    let headers = (0..count).map(|index| table + index * 56);
    headers
        .filter(|&at| bytes[at] == 1)
        .map(|at| CodeSection {
            range: word(at + 16)..word(at + 16) + word(at + 32),
            file: file.clone(),
            file_offset: word(at + 8),
        })
        .collect()
}

/// Poked code comes through `read`.
fn punch_holes(sections: Vec<CodeSection>, pokes: &[(Tsc, u64, Vec<u8>)]) -> Vec<CodeSection> {
    let mut sections = sections;
    for (_, address, new) in pokes {
        let end = address + new.len() as u64;
        sections = sections
            .into_iter()
            .flat_map(|section| {
                let before = section.range.start..section.range.end.min(*address);
                let after = section.range.start.max(end)..section.range.end;
                [before, after].into_iter().filter(|range| !range.is_empty()).map(move |range| CodeSection {
                    file_offset: section.file_offset + (range.start - section.range.start),
                    range,
                    file: section.file.clone(),
                })
            })
            .collect();
    }
    sections
}

impl CodeBytes for FileCode {
    fn epoch(&self, pid: Pid, at: Tsc) -> CodeEpoch {
        let Some(space) = self.spaces.get(&pid.0) else {
            return CodeEpoch { id: u64::MAX, until: Tsc(u64::MAX), sections: self.kernel.clone() };
        };
        let index = space.epochs.partition_point(|(since, _)| *since <= at).max(1);
        CodeEpoch {
            id: u64::from(pid.0.unsigned_abs()) << 32 | index as u64,
            until: space.epochs.get(index).map_or(Tsc(u64::MAX), |(since, _)| *since),
            sections: space.epochs[index - 1].1.clone(),
        }
    }

    fn read(&self, pid: Pid, address: u64, at: Tsc, into: &mut [u8]) -> usize {
        let epoch = self.epoch(pid, at);
        for (index, byte) in into.iter_mut().enumerate() {
            let address = address + index as u64;
            let poke = self.pokes.iter().rev().find(|(time, start, new)| {
                *time <= at && (*start..*start + new.len() as u64).contains(&address)
            });
            if let Some((_, start, new)) = poke {
                *byte = new[usize::try_from(address - start).expect("small")];
                continue;
            }
            let Some(section) = epoch.sections.iter().find(|section| section.range.contains(&address)) else {
                return index;
            };
            let file = self.file(&section.file);
            let offset = section.file_offset + (address - section.range.start);
            match file.get(usize::try_from(offset).expect("an offset")) {
                Some(&found) => *byte = found,
                None => return index,
            }
        }
        into.len()
    }
}
