//! The program's marks, which grow while they are read: of a long file its end, and piece by piece what was not counted yet.
//!
//! Input: the interval file. Output: a file with its last marks, for the time of a ring; each interval once, for the account.
//! A piece of a file in binary form can be read by itself, for all strings and threads stand in it again and again
//! (docs/interval-file.md). Of another form it is read as a whole.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;
use intervals::{Clock, Clocks, IntervalFile, MARK_BYTES};
use model::{Interval, TimeConversion};
use tempfile::NamedTempFile;

/// So much of a longer file is read for a ring, which holds seconds, and before a piece, whose intervals may begin there: 700,000 marks.
const RECENT: u64 = 16 << 20;
/// A piece.
const STEP: u64 = 8 << 20;
/// The first line of an interval file in binary form, and its totals; then records of this size (docs/interval-file.md).
const HEAD: u64 = 64 + 8 * RECORD;
const RECORD: u64 = MARK_BYTES as u64;
/// What the first line of that form says.
const BINARY: &[u8] = b"form=binary";
/// Marks are written within milliseconds, those of one thread before those of another: ticks, a tenth of a second.
const SLACK: u64 = 1 << 28;

/// The interval file of a recording.
pub(super) struct Marks {
    path: PathBuf,
    /// Bytes that hold nothing that was not counted.
    read: u64,
    /// Intervals that end up to here are counted.
    until: u64,
    /// [`RECENT`] and [`STEP`], but for tests.
    recent: u64,
    step: u64,
}

impl Marks {
    /// Those of the file at `path`, which need not be there yet.
    pub(super) fn of(path: PathBuf) -> Marks {
        Marks { path, read: HEAD, until: 0, recent: RECENT, step: STEP }
    }

    /// Where they are.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The end of a long file, up to `end`, in a file in `folder`. `None` where it is short.
    pub(super) fn recent(&self, end: u64, folder: &Path) -> Result<Option<NamedTempFile>> {
        if end <= self.recent + HEAD {
            return Ok(None);
        }
        let mut recent = NamedTempFile::new_in(folder)?;
        std::io::copy(&mut self.piece(aligned(end - self.recent), end)?, &mut recent)?;
        Ok(Some(recent))
    }

    /// Shows `each` interval that ends up to `until` and was not shown yet, with what makes its ticks nanoseconds: `conversion`, or what
    /// the file's clock pairs say. `end` is the length of the file when all of these were in it.
    ///
    /// # Errors
    /// Where the file cannot be read, or relates no clock.
    pub(super) fn count(
        &mut self,
        end: u64,
        until: u64,
        conversion: Option<TimeConversion>,
        each: &mut dyn FnMut(&Interval, TimeConversion),
    ) -> Result<()> {
        let is_binary = self.is_binary()?;
        loop {
            let to = if is_binary { end.min(self.read + self.step) } else { end };
            let from = if is_binary { aligned(self.read.saturating_sub(self.recent)) } else { 0 };
            let (intervals, conversion) = self.intervals(from, to, conversion)?;
            let is_last = to == end;
            let newest = intervals.iter().map(|interval| interval.range.stop.0).max().unwrap_or(0);
            let here = if is_last { until } else { until.min(newest.saturating_sub(SLACK)) };
            let is_new = |interval: &&Interval| (self.until + 1..=here).contains(&interval.range.stop.0);
            intervals.iter().filter(is_new).for_each(|interval| each(interval, conversion));
            self.until = self.until.max(here);
            if is_last {
                // Some of it may end later.
                return Ok(());
            }
            self.read = to;
        }
    }

    fn intervals(
        &self,
        from: u64,
        to: u64,
        conversion: Option<TimeConversion>,
    ) -> Result<(Vec<Interval>, TimeConversion)> {
        let file = IntervalFile::from_reader(&self.path, self.piece(from, to)?)?;
        let clocks = Clocks { pairs: file.pairs().to_vec(), conversion, ..Clocks::default() };
        let conversion = match conversion {
            Some(conversion) => conversion,
            None => clocks.line(Clock::MonotonicRaw)?.conversion,
        };
        Ok((file.finish(&clocks)?.intervals, conversion))
    }

    /// Its head, and what lies from `from` to `to`.
    fn piece(&self, from: u64, to: u64) -> Result<impl Read + use<>> {
        let head = File::open(&self.path)?.take(from.min(HEAD));
        let mut rest = File::open(&self.path)?;
        rest.seek(SeekFrom::Start(from))?;
        Ok(head.chain(rest.take(to.saturating_sub(from))))
    }

    fn is_binary(&self) -> Result<bool> {
        let mut line = Vec::new();
        File::open(&self.path)?.take(HEAD).read_to_end(&mut line)?;
        Ok(line.windows(BINARY.len()).any(|found| found == BINARY))
    }
}

/// The last record's begin up to `at`.
fn aligned(at: u64) -> u64 {
    HEAD + at.saturating_sub(HEAD) / RECORD * RECORD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(marks: &mut Marks, end: usize, until: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let mut count = |interval: &Interval, _| found.push((interval.range.start.0, interval.range.stop.0));
        marks.count(end as u64, until, TimeConversion::new(0, 1, 0), &mut count).expect("counted");
        found
    }

    #[test]
    fn each_interval_is_counted_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("intervals.marks");
        let mut marks = Marks::of(path.clone());
        let mut text = "# tailtrace-intervals 1 clock=tsc\nlabel,start,stop\n".to_owned();
        let mut found = Vec::new();
        for (more, until) in
            [("order,10,20\norder,30,50\n", 40), ("order,5,45\n", 60), ("order,61,62\n", u64::MAX)]
        {
            text += more;
            std::fs::write(&path, &text).expect("written");
            found.push(counted(&mut marks, text.len(), until));
        }
        assert_eq!(found, [vec![(10, 20)], vec![(5, 45), (30, 50)], vec![(61, 62)]]);
    }

    /// A record: two words, kind and the lower bits of the third word.
    fn record(first: u64, second: u64, kind: u64, low: u64) -> [u8; 24] {
        let words = [first, second, kind << 56 | low].map(u64::to_le_bytes);
        words.concat().try_into().expect("24 bytes")
    }

    /// Ten seconds of a program whose interval begins each millisecond and takes two thirds of one, by docs/interval-file.md.
    fn binary() -> Vec<u8> {
        let mut bytes = b"# tailtrace-intervals 1 clock=tsc form=binary".to_vec();
        bytes.resize(63, b' ');
        bytes.push(b'\n');
        (0..8).for_each(|_| bytes.extend(record(0, 0, 12, 0)));
        for number in 0..10_000_u64 {
            if number % 100 == 0 {
                bytes.extend(record(7 | 8 << 32, 0, 8, 0));
                bytes.extend(record(0x1000, 5, 9, 0));
                let mut name = *b"order\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0a";
                name[23] = 10;
                bytes.extend(name);
            }
            let begin = 1 + number * 3_000_000;
            bytes.extend(record(begin, u64::MAX, 1, 0x1000));
            bytes.extend(record(begin + 2_000_000, u64::MAX, 2, 0x1000));
        }
        bytes
    }

    #[test]
    fn pieces_of_a_long_file_hold_each_interval_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("intervals.marks");
        let bytes = binary();
        std::fs::write(&path, &bytes).expect("written");
        let mut marks = Marks { recent: 60_000, step: 50_000, ..Marks::of(path) };
        let first = counted(&mut marks, bytes.len() / 2 + 7, 3_000_000 * 4_000);
        assert_eq!(first.len(), 4_000);
        let rest = counted(&mut marks, bytes.len(), u64::MAX);
        let all: Vec<(u64, u64)> = first.into_iter().chain(rest).collect();
        let expected: Vec<(u64, u64)> =
            (0..10_000).map(|number| (1 + number * 3_000_000, 2_000_001 + number * 3_000_000)).collect();
        assert_eq!(all, expected);
        let recent = marks.recent(bytes.len() as u64, folder.path()).expect("read").expect("it is long");
        assert_eq!(std::fs::metadata(recent.path()).expect("there").len(), HEAD + 60_000);
    }
}
