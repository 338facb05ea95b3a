//! Records of 24 bytes, in buffers as in the file: `docs/interval-file.md`, "Binary marks".

use core::ffi::CStr;

/// What a record is: the last byte of its 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An interval begins.
    Begin = 1,
    /// An interval ends.
    End = 2,
    /// A stage of it begins; its name follows.
    Stage = 3,
    /// A number that belongs to it; its name follows, with the value.
    Counter = 4,
    /// It goes over to another thread.
    Publish = 5,
    /// Name of the stage or counter before.
    Name = 6,
    /// Marks are missing.
    Lost = 7,
    /// Whose marks follow. From here on only in files.
    Thread = 8,
    /// The string at an address.
    Text = 9,
    /// A part of it.
    Bytes = 10,
    /// A clock pair.
    ClockPair = 11,
    /// How many marks the file has, and how many are missing.
    Total = 12,
    /// An end whose own thread has compared it with the limit. Only in buffers: in files it is an end.
    EndSince = 13,
    /// A thread runs the interval's task.
    Run = 14,
    /// The task can go on.
    Ready = 15,
    /// The task waits.
    Await = 16,
}

/// Why marks are missing, and what [`Kind::Total`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// They are not: these are in the file.
    Written = 0,
    /// The thread's buffer was full.
    Full = 1,
    /// Made in a signal handler while its thread was within another mark.
    Within = 2,
    /// There was no buffer.
    NoBuffer = 3,
    /// The file could not be written.
    Unwritten = 4,
    /// The label's memory is not there any more.
    Unreadable = 5,
    /// Made in a child of `fork()` that had opened no file.
    Forked = 6,
    /// Made after the file was closed.
    Late = 7,
}

/// How many there are.
pub const COUNTS: usize = 8;

/// The low bits of a record's third word: an address, or a kind's own fields.
const LOW: u64 = u64::MAX >> 8;
/// The longest time of a loss, and the largest error of a clock pair.
const MOST_IN_48_BITS: u64 = u64::MAX >> 16;

/// One record: three words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record(pub [u64; 3]);

impl Record {
    /// A record of `kind`, whose third word has `low` in bits 55:0.
    #[inline]
    pub const fn new(kind: Kind, first: u64, second: u64, low: u64) -> Record {
        Record([first, second, low & LOW | (kind as u64) << 56])
    }

    /// A mark: `at` in ticks.
    #[inline]
    pub fn mark(kind: Kind, label: &'static CStr, key: u64, at: u64) -> Record {
        Record::new(kind, at, key, label.as_ptr().expose_provenance() as u64)
    }

    /// The name that follows a stage or a counter.
    #[inline]
    pub fn name(name: &'static CStr, value: i64) -> Record {
        Record::new(Kind::Name, value.cast_unsigned(), 0, name.as_ptr().expose_provenance() as u64)
    }

    /// `count` marks are missing for this reason, from `first` to `last` in ticks.
    pub fn lost(why: Count, count: u64, first: u64, last: u64) -> Record {
        let ticks = last.saturating_sub(first).min(MOST_IN_48_BITS);
        Record::new(Kind::Lost, first, count, (why as u64) << 48 | ticks)
    }

    /// A clock pair; the clock by its number in Linux, the error in nanoseconds.
    pub fn clock_pair(clock: u64, tsc: u64, ns: u64, error_ns: u64) -> Record {
        Record::new(Kind::ClockPair, tsc, ns, clock << 48 | error_ns.min(MOST_IN_48_BITS))
    }

    /// The number of its [`Kind`].
    pub fn kind(self) -> u64 {
        self.0[2] >> 56
    }

    /// Bits 55:0 of the third word.
    pub fn low(self) -> u64 {
        self.0[2] & LOW
    }

    /// What the file has of it.
    #[must_use]
    pub fn in_file(self) -> Record {
        let [at, key, _] = self.0;
        let is_compared = self.kind() == Kind::EndSince as u64;
        if is_compared { Record::new(Kind::End, at, key, self.low()) } else { self }
    }

    /// As it is in the file.
    pub fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (to, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those of docs/interval-file.md, counted by hand.
    #[test]
    fn bytes_are_the_files() {
        let lost = Record::lost(Count::Within, 3, 0x0102, 0x0107).to_bytes();
        let expected: [u8; 24] = [2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 2, 7];
        assert_eq!(lost, expected);
        let pair = Record::clock_pair(4, 1, 2, u64::MAX).to_bytes();
        assert_eq!(pair[16..], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 11]);
    }

    #[test]
    fn a_mark_has_its_labels_address() {
        let label = c"order";
        let record = Record::mark(Kind::End, label, 7, 9);
        assert_eq!((record.0[0], record.0[1], record.kind()), (9, 7, 2));
        assert_eq!(record.low(), label.as_ptr().addr() as u64);
    }
}
