//! What the file counts: its marks, and those that are missing. Children of `fork()` share the page, and count in it.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::record::{COUNTS, Count};
use crate::system::pages;

/// A page's words.
const WORDS: usize = 512;

/// The counts; a copy is the same page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts(&'static [AtomicU64; WORDS]);

impl Counts {
    /// All zero; `None` where there is no memory.
    pub(crate) fn new() -> Option<Counts> {
        pages(true).map(Counts)
    }

    /// Adds marks.
    pub(crate) fn add(self, what: Count, marks: u64) {
        if marks > 0 {
            self.0[what as usize].fetch_add(marks, Ordering::Relaxed);
        }
    }

    /// All are zero again.
    pub(crate) fn reset(self) {
        self.0.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// All, in the order of [`Count`].
    pub(crate) fn all(self) -> [u64; COUNTS] {
        std::array::from_fn(|what| self.0[what].load(Ordering::Relaxed))
    }
}
