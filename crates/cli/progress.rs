//! How far long work is, in words and as a bar: the same in the terminal's status line and on stderr.

use indicatif::DecimalBytes;

/// How far work was at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Windows (each the trace of one interval) that are decoded.
    pub(crate) done: usize,
    /// Windows to decode; zero where that is not known yet, or the whole trace is scanned.
    pub(crate) expected: usize,
    /// Bytes of trace decoded, to within some thousand blocks per decoder.
    pub(crate) bytes: u64,
    /// Bytes to decode; zero where that is not known.
    pub(crate) expected_bytes: u64,
    /// Blocks and PT events decoded, to within a thousand per decoder.
    pub(crate) items: u64,
}

impl Progress {
    /// `3 of 17 windows, 1.20 MB, 350 k blocks`; empty before anything is known.
    pub(crate) fn words(&self) -> String {
        let windows = (self.expected > 0).then(|| format!("{} of {} windows", self.done, self.expected));
        let bytes = match (self.bytes, self.expected_bytes) {
            (0, 0) => None,
            (bytes, 0) => Some(DecimalBytes(bytes).to_string()),
            (bytes, expected) => Some(format!("{} of {}", DecimalBytes(bytes), DecimalBytes(expected))),
        };
        let blocks = (self.items > 0).then(|| format!("{} blocks", thousands(self.items)));
        [windows, bytes, blocks].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The part that is done, in percent; `None` where it is not known.
    pub(crate) fn percent(&self) -> Option<u8> {
        let (done, expected) = match self.expected {
            0 => (self.bytes, self.expected_bytes),
            expected => (self.done as u64, expected as u64),
        };
        let part = (u128::from(done) * 100).checked_div(u128::from(expected))?;
        Some(u8::try_from(part.min(100)).unwrap_or(100))
    }

    /// The part that is done as a bar of `columns`; `None` where it is not known.
    pub(crate) fn bar(&self, columns: usize) -> Option<String> {
        let filled = usize::from(self.percent()?) * columns / 100;
        Some(format!("{}{}", "█".repeat(filled), "·".repeat(columns - filled)))
    }
}

/// `950`, `12 k`, `3.4 M`.
fn thousands(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{} k", count / 1000),
        _ => format!("{}.{} M", count / 1_000_000, count / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_what_is_known() {
        let nothing = Progress::default();
        assert_eq!((nothing.words(), nothing.percent()), (String::new(), None));
        let decoding = Progress { done: 3, expected: 12, bytes: 1_200_000, items: 350_900, ..nothing };
        assert_eq!(decoding.words(), "3 of 12 windows, 1.20 MB, 350 k blocks");
        assert_eq!(decoding.bar(8).as_deref(), Some("██······"));
        let scanning = Progress { bytes: 500, expected_bytes: 2000, ..nothing };
        assert_eq!(scanning.words(), "500 B of 2.00 kB");
        assert_eq!(scanning.percent(), Some(25));
    }

    #[test]
    fn more_than_all_is_all() {
        let late = Progress { bytes: u64::MAX, expected_bytes: 1, ..Progress::default() };
        assert_eq!((late.percent(), late.bar(2).as_deref()), (Some(100), Some("██")));
    }
}
