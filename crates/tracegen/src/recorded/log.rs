//! Reads what the emulator's plugin logged of one virtual CPU.
//!
//! Input: `vcpu<N>.log`, words of eight bytes. Output: its entries in order. Invariant: an entry that is cut off ends the log.
//! Source: the head of `fixtures/emulator/plugin/execution_log.c`.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// From here on the low half of a word is no block number.
const EVENTS: u32 = 0xffff_0000;

/// One thing that was logged. Times are the host's TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The block with this number begins.
    Block {
        number: usize,
        at: u64,
    },
    /// An interrupt or exception at `from`; the kernel's `entry` comes next.
    Interrupt {
        from: u64,
        entry: u64,
        at: u64,
    },
    /// The guest read its TSC shortly before `at`.
    Clock {
        guest: u64,
        at: u64,
    },
    /// CR3 gets this value.
    PageTable(u64),
    PtWrite {
        ip: u64,
        value: u64,
        at: u64,
    },
    /// The CPU halts, in this state of the machine model's; 0 where there is none.
    Idle {
        at: u64,
        state: u8,
    },
    /// The halted CPU has something to do.
    Resume(u64),
    /// The log ends.
    End(u64),
    /// The CPU was stalled because the machine model says so.
    Stall {
        kind: StallKind,
        from: u64,
        to: u64,
        detail: u64,
    },
    /// A program requested a core:bus ratio for a CPU.
    Request {
        cpu: u32,
        ratio: u8,
        by_governor: bool,
        at: u64,
    },
}

/// Why the machine model stalled a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallKind {
    /// It left an idle state, whose number is the detail.
    IdleExit,
    /// Its core:bus ratio changed to the detail.
    Ratio,
    /// What it had executed took longer by this, at the ratio that is the detail.
    Slow,
    /// What it had executed took longer by this, because the CPU that is the detail ran on the same core.
    Shared,
    /// The front end fetched code; the detail has its cycles by reason.
    Fetch,
    /// What it had executed waited for data; the detail has the cycles by where the data was.
    Data,
}

impl StallKind {
    fn of(number: u64) -> Option<StallKind> {
        Some(match number {
            1 => StallKind::IdleExit,
            2 => StallKind::Ratio,
            3 => StallKind::Slow,
            4 => StallKind::Shared,
            5 => StallKind::Fetch,
            6 => StallKind::Data,
            _ => return None,
        })
    }

    /// What `log/stalls.csv` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            StallKind::IdleExit => "idle-exit",
            StallKind::Ratio => "ratio",
            StallKind::Slow => "slow",
            StallKind::Shared => "shared",
            StallKind::Fetch => "fetch",
            StallKind::Data => "data",
        }
    }
}

/// One CPU's log, in memory.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    words: Vec<u64>,
}

impl Log {
    /// Reads the log at `path`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(super) fn read(path: &Path) -> Result<Log, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
        Ok(Log { path: path.to_owned(), words: words.map(u64::from_le_bytes).collect() })
    }

    /// Its entries.
    pub(super) fn entries(&self) -> Entries<'_> {
        Entries { words: &self.words, next: 0, stamp: 0 }
    }

    /// For `ok_or_else`: what is wrong at the entry that ends before word `next`.
    pub(super) fn wrong(&self, next: usize, what: &'static str) -> Error {
        Error::Capture { path: self.path.clone(), offset: next.saturating_sub(1) as u64 * 8, what }
    }
}

/// Walks a log.
#[derive(Clone, Debug)]
pub(super) struct Entries<'a> {
    words: &'a [u64],
    /// Place of the next word.
    pub(super) next: usize,
    stamp: u64,
}

impl Entries<'_> {
    fn event(&mut self, kind: u32, count: usize) -> Option<Entry> {
        let payload = self.words.get(self.next..self.next.checked_add(count)?)?;
        self.next += count;
        let entry = match (kind, payload) {
            (1, &[from, entry, at]) => Entry::Interrupt { from, entry, at },
            (2, &[guest, at]) => Entry::Clock { guest, at },
            (3, &[cr3]) => Entry::PageTable(cr3),
            (4, &[at]) => {
                self.stamp = at;
                return self.next();
            }
            (5, &[ip, value, at]) => Entry::PtWrite { ip, value, at },
            (6, &[at]) => Entry::Idle { at, state: 0 },
            (6, &[at, state]) => Entry::Idle { at, state: state as u8 },
            (7, &[at]) => Entry::Resume(at),
            (8, &[at]) => Entry::End(at),
            (9, &[kind, from, to, detail]) => match StallKind::of(kind) {
                Some(kind) => Entry::Stall { kind, from, to, detail },
                None => return self.next(),
            },
            (10, &[cpu, ratio, by_governor, at]) => {
                Entry::Request { cpu: cpu as u32, ratio: ratio as u8, by_governor: by_governor != 0, at }
            }
            _ => return self.next(),
        };
        Some(entry)
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let word = *self.words.get(self.next)?;
        self.next += 1;
        let (low, high) = (word as u32, word >> 32);
        if low >= EVENTS {
            return self.event(low & 0xffff, high as usize);
        }
        self.stamp += high;
        Some(Entry::Block { number: low as usize, at: self.stamp })
    }
}
