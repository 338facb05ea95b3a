//! Regions that a program of the ITT API marks in its trace become intervals.
//!
//! Input: jumps into its mark table, with their times and threads, and the names of regions. Output: intervals. A mark has no key: it pairs with
//! the last one of its region on its thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use model::{Cpu, Severity, ThreadId, Tsc};

use crate::error::Error;
use crate::findings::{Findings, Origin};
use crate::interval_set::IntervalSet;
use crate::pairing::{self, Mark, MarkKind};

/// Regions of the API are numbered below this.
const REGIONS: u8 = 128;
/// Most bytes of a file of names that are read.
const MOST_BYTES: u64 = 1 << 16;

/// A jump to an entry of the mark table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionMark {
    /// When the jump was made; zero where no time packet came before.
    pub time: Tsc,
    /// Where.
    pub cpu: Option<Cpu>,
    /// Who jumped.
    pub thread: Option<ThreadId>,
    /// The entry: 2R begins region R, 2R + 1 ends it.
    pub entry: u8,
    /// Position of the packet in the AUX stream.
    pub aux_offset: u64,
}

impl RegionMark {
    fn region(&self) -> u8 {
        self.entry / 2
    }

    fn origin(&self) -> Origin {
        Origin::Aux { cpu: self.cpu, offset: self.aux_offset }
    }
}

/// Names of regions by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionNames(BTreeMap<u8, Arc<str>>);

impl RegionNames {
    /// Reads the file at `path`: a line for each region, its number, a space, its name. The collector of `crates/itt` writes it.
    ///
    /// # Errors
    /// Where the file cannot be read, or a line is none.
    pub fn read(path: &Path) -> Result<RegionNames, Error> {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let mut names = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let parsed = line.split_once(' ').and_then(|(region, name)| Some((region.parse().ok()?, name)));
            let Some((region, name)) = parsed.filter(|&(region, name)| region < REGIONS && !name.is_empty())
            else {
                let what = "a line names a region: its number, below 128, a space, its name".to_owned();
                return Err(Error::Header { path: path.to_owned(), line: number, what });
            };
            names.insert(region, name.into());
        }
        Ok(RegionNames(names))
    }

    fn of(&self, region: u8) -> Arc<str> {
        self.0.get(&region).map_or_else(|| format!("region {region}").into(), Arc::clone)
    }
}

/// Intervals from marks of regions, given in any order.
pub fn from_region_marks(names: &RegionNames, marks: impl IntoIterator<Item = RegionMark>) -> IntervalSet {
    let mut findings = Findings::new();
    let mut labels: BTreeMap<u8, Arc<str>> = BTreeMap::new();
    let mut found = Vec::new();
    for mark in marks {
        if mark.time == Tsc(0) {
            findings.add(Severity::Warning, "marks of regions without time", mark.origin(), || {
                format!(
                    "a mark of region {} lies before the first timing packet: it is left out",
                    mark.region()
                )
            });
            continue;
        }
        let label = labels.entry(mark.region()).or_insert_with(|| names.of(mark.region()));
        found.push(Mark {
            kind: if mark.entry % 2 == 0 { MarkKind::Begin } else { MarkKind::End },
            label: Arc::clone(label),
            key: None,
            at: mark.time,
            thread: mark.thread,
            cpu: mark.cpu,
            id: None,
            counters: Vec::new(),
            origin: mark.origin(),
        });
    }
    pairing::pair(found, findings)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::{Pid, Tid};

    use super::*;

    fn mark(time: u64, tid: i32, entry: u8) -> RegionMark {
        let thread = Some(ThreadId { pid: Pid(7), tid: Tid(tid) });
        RegionMark { time: Tsc(time), cpu: Some(Cpu(0)), thread, entry, aux_offset: time }
    }

    fn read(text: &str) -> Result<RegionNames, Error> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), text).expect("written");
        RegionNames::read(file.path())
    }

    #[test]
    fn a_mark_pairs_on_its_thread_with_the_last_of_its_region() {
        let names = read("0 parse\n3 answer the client\n").expect("names");
        let marks = [
            mark(100, 1, 0),
            mark(110, 2, 0),
            mark(120, 1, 6),
            mark(130, 1, 0),
            mark(150, 1, 1),
            mark(160, 1, 7),
            mark(170, 2, 1),
            mark(180, 1, 1),
            mark(190, 1, 10),
            mark(195, 1, 11),
            mark(0, 1, 10),
        ];
        let set = from_region_marks(&names, marks);
        let found: Vec<_> = set
            .intervals
            .iter()
            .map(|each| {
                (
                    &*each.label,
                    each.start_thread.map(|thread| thread.tid.0),
                    each.range.start.0,
                    each.range.stop.0,
                )
            })
            .collect();
        let expected = [
            ("parse", Some(1), 100, 180),
            ("parse", Some(2), 110, 170),
            ("answer the client", Some(1), 120, 160),
            ("parse", Some(1), 130, 150),
            ("region 5", Some(1), 190, 195),
        ];
        assert_eq!(found, expected);
        assert_eq!(set.diagnostics.len(), 1, "{:?}", set.diagnostics);
    }

    #[test]
    fn a_line_that_names_no_region_is_an_error_with_its_place() {
        for (text, line) in
            [("0 parse\n128 late\n", 2), ("parse\n", 1), ("1 \n", 1), ("0 a\n\n", 2), ("-1 a", 1)]
        {
            let error = read(text).expect_err(text);
            assert!(
                matches!(&error, Error::Header { line: found, .. } if *found == line),
                "{text:?}: {error}"
            );
        }
        assert_eq!(read("").expect("no names"), RegionNames::default());
    }
}
