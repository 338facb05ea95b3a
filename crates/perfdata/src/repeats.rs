//! Records that stand in the file twice.
//!
//! perf may write a part of a ring buffer a second time: some records of live recordings stand there again, a few hundred
//! bytes on. The second one has the same bytes as the first, its time in nanoseconds among them. To count both would be a
//! second switch, or a second interrupt, at the same moment.

use model::{Diagnostic, FileOffset};

use crate::PerfData;
use crate::record::Header;
use crate::walk::IndexEntry;

/// Records of the same time that one is compared with: as many as CPUs write in the same nanosecond, hardly ever two.
const NEAR: usize = 8;

impl PerfData {
    /// Takes what stands there twice out of the records: the first one stays. [`PerfData::record_counts`] counts both, as perf
    /// does.
    pub(crate) fn leave_out_repeats(&mut self) {
        let mut repeats = Vec::new();
        let mut index = std::mem::take(&mut self.index);
        for (place, entry) in index.iter().enumerate() {
            let before = index[place.saturating_sub(NEAR)..place].iter().rev();
            let mut before = before.take_while(|before| before.time == entry.time);
            if entry.time != 0 && before.any(|before| self.is_repeated(before, entry)) {
                repeats.push(entry.offset);
            }
        }
        repeats.sort_unstable();
        if let Some(&first) = repeats.first() {
            index.retain(|entry| repeats.binary_search(&entry.offset).is_err());
            let count = repeats.len();
            let what = format!(
                "{count} of the records stand in the file twice, byte for byte with the same time: each counts once (this is \
                 the first)"
            );
            self.diagnostics.push(Diagnostic::note(what).at_offset(first));
        }
        (self.index, self.repeats) = (index, repeats);
    }

    /// Whether `again` has the bytes of `first`, and a time of its own among them.
    fn is_repeated(&self, first: &IndexEntry, again: &IndexEntry) -> bool {
        let whole = |entry: &IndexEntry| {
            let bytes = self.pieces.record(entry.offset);
            bytes.get(..usize::from(Header::read(bytes)?.size))
        };
        let has_time =
            |entry: &IndexEntry| self.record_at(entry.offset).is_some_and(|record| record.time.is_some());
        whole(first).is_some_and(|bytes| whole(again) == Some(bytes)) && has_time(again)
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

    /// COMM records (type 3) of the threads `tids` at `times`; each kept one's time.
    fn kept(records: &[(u32, u64)]) -> (Vec<u64>, usize) {
        let comm = |tid: u32| [&10u32.to_le_bytes()[..], &tid.to_le_bytes()[..], b"abcdefg\0"].concat();
        let file = records.iter().fold(file(), |file, &(tid, time)| file.timed(3, 0, &comm(tid), time));
        let perf_data = file.open();
        assert_eq!(perf_data.record_counts(), [("COMM".to_owned(), records.len() as u64)]);
        let times = perf_data.records().map(|record| record.time.map_or(0, |time| time.0)).collect();
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

    /// What perf writes itself has no time, and may be said again.
    #[test]
    fn records_without_a_time_stay() {
        // FINISHED_ROUND, type 68, behind a record at 50.
        let perf_data = file().timed(3, 0, &[0; 16], 50).record(68, 0, &[]).record(68, 0, &[]).open();
        assert_eq!((perf_data.records().count(), perf_data.repeats().len()), (3, 0));
    }
}
