//! Records that stand in the file twice.
//!
//! perf may write a part of a ring buffer a second time: some records of live recordings stand there again, a few hundred
//! bytes on. The second one has the same bytes as the first, its time in nanoseconds among them. To count both would be a
//! second switch, or a second interrupt, at the same moment.

use std::collections::VecDeque;

use model::{Diagnostic, FileOffset};

use crate::PerfData;
use crate::record::{Header, kinds};
use crate::walk::IndexEntry;

/// Records of the same time that one is compared with: more than CPUs write in the same nanosecond.
const NEAR: usize = 8;

impl PerfData {
    /// Takes what stands there twice out of the records: the first one stays. [`PerfData::record_counts`] counts both, as perf
    /// does.
    pub(crate) fn leave_out_repeats(&mut self) {
        let mut repeats = Vec::new();
        for same_time in self.index.chunk_by(|a, b| a.time == b.time) {
            if same_time.len() > 1 && same_time[0].time != 0 {
                self.find_repeats(same_time, &mut repeats);
            }
        }
        repeats.sort_unstable();
        let Some(&first) = repeats.first() else { return };
        let stays = |entry: &IndexEntry| repeats.binary_search(&entry.offset).is_err();
        self.index.retain(stays);
        self.map_index.retain(stays);
        let what = match repeats.len() {
            1 => "1 record repeats another one, byte for byte with the same time: it is left out".to_owned(),
            count => format!(
                "{count} records repeat others, byte for byte with the same time: they are left out, the first one here"
            ),
        };
        self.diagnostics.push(Diagnostic::note(what).at_offset(first));
        self.repeats = repeats;
    }

    /// Those of `entries`, which have one time, whose bytes stand before them.
    fn find_repeats(&self, entries: &[IndexEntry], repeats: &mut Vec<FileOffset>) {
        let mut near: VecDeque<&[u8]> = VecDeque::with_capacity(NEAR);
        for entry in entries {
            let Some(bytes) = self.bytes_with_time(entry.offset) else { continue };
            if near.contains(&bytes) {
                repeats.push(entry.offset);
                continue;
            }
            if near.len() == NEAR {
                near.pop_front();
            }
            near.push_back(bytes);
        }
    }

    /// All bytes of the record at `offset`, if a time is among them: what perf writes itself has none, and may be said again.
    fn bytes_with_time(&self, offset: FileOffset) -> Option<&[u8]> {
        let bytes = self.pieces.record(offset);
        let header = Header::read(bytes).filter(|header| header.kind < kinds::FIRST_USER_KIND)?;
        self.record_at(offset)?.time?;
        bytes.get(..usize::from(header.size))
    }

    /// Where the second copies of such records stand, in the order of the file.
    pub fn repeats(&self) -> &[FileOffset] {
        &self.repeats
    }
}

#[cfg(test)]
mod tests {
    use crate::test_file::{SAMPLE_ID_ALL, TestFile, USUAL_SAMPLE_TYPE, attr};

    fn file() -> TestFile {
        TestFile::new().attr(attr(1, 9, USUAL_SAMPLE_TYPE, SAMPLE_ID_ALL), &[7])
    }

    /// COMM records (type 3), each of a thread at a time: the times of those that are kept, and how many are not.
    fn kept(records: &[(u32, u64)]) -> (Vec<u64>, usize) {
        let comm = |tid: u32| [&10u32.to_le_bytes()[..], &tid.to_le_bytes()[..], b"abcdefg\0"].concat();
        let file = records.iter().fold(file(), |file, &(tid, time)| file.timed(3, 0, &comm(tid), time));
        let perf_data = file.open();
        assert_eq!(perf_data.record_counts(), [("COMM".to_owned(), records.len() as u64)]);
        let times: Vec<u64> =
            perf_data.records().map(|record| record.time.map_or(0, |time| time.0)).collect();
        assert_eq!(perf_data.map_records().count(), times.len());
        (times, perf_data.repeats().len())
    }

    #[test]
    fn what_stands_there_twice_counts_once() {
        // The ring is written again from its second record on.
        assert_eq!(kept(&[(1, 50), (1, 60), (2, 70), (1, 60), (2, 70), (1, 80)]), (vec![50, 60, 70, 80], 2));
        assert_eq!(kept(&[(1, 50), (1, 50), (1, 50)]), (vec![50], 2), "three times");
    }

    #[test]
    fn what_differs_is_no_repeat() {
        assert_eq!(kept(&[(1, 50), (2, 50)]), (vec![50, 50], 0), "another thread");
        assert_eq!(kept(&[(1, 50), (1, 51)]), (vec![50, 51], 0), "another time");
    }

    /// The one copy of many is found behind seven others of its time, and no further.
    #[test]
    fn few_records_of_a_time_are_compared() {
        let others = |count: u32| {
            let between = (2..2 + count).map(|tid| (tid, 50));
            let all: Vec<(u32, u64)> = [(1, 50)].into_iter().chain(between).chain([(1, 50)]).collect();
            kept(&all).1
        };
        assert_eq!((others(7), others(8)), (1, 0));
    }

    /// `FINISHED_ROUND` (type 68) has no time of its own: it may be said again, and stands between no two copies.
    #[test]
    fn records_without_a_time_stay() {
        let comm = [0; 16];
        let first = file().timed(3, 0, &comm, 50);
        let file = (0..9).fold(first, |file, _| file.record(68, 0, &[])).timed(3, 0, &comm, 50);
        let perf_data = file.open();
        assert_eq!((perf_data.records().count(), perf_data.repeats().len()), (10, 1));
    }

    /// Four milliseconds back, but only to what was written before.
    #[test]
    fn a_ring_that_is_written_again_is_no_step_of_its_clock() {
        let steps = |times: &[u64]| {
            let file = times.iter().fold(file(), |file, &time| file.timed(3, 0, &[0; 16], time));
            file.open().clock_steps().len()
        };
        assert_eq!(
            (steps(&[5_000_000, 9_000_000, 5_000_000]), steps(&[5_000_000, 9_000_000, 4_000_000])),
            (0, 1)
        );
    }
}
