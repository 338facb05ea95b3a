//! Events in a page of the kernel's trace buffer, as `trace_pipe_raw` gives it.
//!
//! Input: a page's bytes. Output: each event's time and payload, and whether events before the page were lost. Whatever the bytes are, what
//! is read lies in them.
//! Source: `events/header_page` and `events/header_event` of tracefs; Documentation/trace/ring-buffer-design.rst; `RB_MISSED_EVENTS` in
//! `kernel/trace/ring_buffer.c`.

/// Where the page's time, its length with flags, and its first event are, on a machine of 64 bits.
const TIME: usize = 0;
const COMMIT: usize = 8;
const EVENTS: usize = 16;
/// The bits of the length.
const LENGTH: u64 = (1 << 27) - 1;
/// Events before this page were overwritten before they were read.
const MISSED: u64 = 1 << 31;

/// What an event's header says of what follows.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The bits of a header that are the time since the event before.
const DELTA_BITS: u32 = 27;
/// An absolute time has so many bits: the page's has the others.
const STAMP_BITS: u32 = 59;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// By the clock of the buffer.
    pub(super) time: u64,
    /// Its fields, the common ones first.
    pub(super) payload: &'a [u8],
}

/// A page.
pub(super) struct Page<'a> {
    /// Whether events before it are missing.
    pub(super) has_missed: bool,
    time: u64,
    rest: &'a [u8],
}

impl<'a> Page<'a> {
    /// The page in `bytes`; `None` where they are too few for its head.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Page<'a>> {
        let commit = number(bytes, COMMIT)?;
        let length = usize::try_from(commit & LENGTH).ok()?.min(bytes.len().checked_sub(EVENTS)?);
        Some(Page {
            has_missed: commit & MISSED != 0,
            time: number(bytes, TIME)?,
            rest: &bytes[EVENTS..EVENTS + length],
        })
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.rest.get(at..at.checked_add(4)?)?.try_into().ok()?))
    }

    /// The payload that begins at `at` and takes `length` bytes; what follows it is next.
    fn take(&mut self, at: usize, length: usize) -> Option<&'a [u8]> {
        let end = at.checked_add(length)?;
        let payload = self.rest.get(at..end)?;
        self.rest = self.rest.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(payload)
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let header = self.word(0)?;
            let (kind, delta) = (header & 31, u64::from(header >> 5));
            let word = || self.word(4);
            match kind {
                // The rest of the page is empty.
                PADDING if delta == 0 => return None,
                PADDING => {
                    let length = usize::try_from(word()?).ok()?;
                    self.time = self.time.wrapping_add(delta);
                    self.take(4, length)?;
                }
                TIME_EXTEND => {
                    let delta = u64::from(word()?) << DELTA_BITS | delta;
                    self.time = self.time.wrapping_add(delta);
                    self.take(4, 4)?;
                }
                TIME_STAMP => {
                    let stamp = u64::from(word()?) << DELTA_BITS | delta;
                    self.time = self.time >> STAMP_BITS << STAMP_BITS | stamp;
                    self.take(4, 4)?;
                }
                0 => {
                    // The length counts itself.
                    let length = usize::try_from(word()?).ok()?.checked_sub(4)?;
                    self.time = self.time.wrapping_add(delta);
                    return Some(Event { time: self.time, payload: self.take(8, length)? });
                }
                words => {
                    self.time = self.time.wrapping_add(delta);
                    let length = usize::try_from(words).ok()? * 4;
                    return Some(Event { time: self.time, payload: self.take(4, length)? });
                }
            }
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(time: u64, commit: u64, words: &[u32]) -> Vec<u8> {
        let words = words.iter().flat_map(|word| word.to_ne_bytes());
        time.to_ne_bytes().into_iter().chain(commit.to_ne_bytes()).chain(words).collect()
    }

    /// By hand after ring-buffer-design: two words 5 ticks later, an extension by 1 << 27, three bytes of length 7, a discarded event, an
    /// absolute time, one word, and the empty rest.
    #[test]
    fn events_have_the_times_of_their_headers() {
        let words = [
            5 << 5 | 2,
            1,
            2,
            TIME_EXTEND,
            1,
            3 << 5,
            7,
            0x0030_2010,
            4 << 5 | PADDING,
            8,
            9,
            6 << 5 | TIME_STAMP,
            2,
            1 << 5 | 1,
            3,
            PADDING,
            99,
        ];
        let bytes = page(1_000, 4 * 17, &words);
        let found: Vec<(u64, Vec<u8>)> =
            Page::of(&bytes).expect("a page").map(|event| (event.time, event.payload.to_vec())).collect();
        let two = [1_u32.to_ne_bytes(), 2_u32.to_ne_bytes()].concat();
        let stamp = (2 << 27) + 6;
        let expected = [
            (1_005, two),
            (1_008 + (1 << 27), vec![0x10, 0x20, 0x30]),
            (stamp + 1, 3_u32.to_ne_bytes().to_vec()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_page_says_that_events_were_lost() {
        let lost = page(7, 1 << 31 | 8, &[1 << 5 | 1, 4]);
        let page_of = |bytes: &[u8]| Page::of(bytes).map(|page| (page.has_missed, page.count()));
        assert_eq!(page_of(&lost), Some((true, 1)));
        assert_eq!(page_of(&page(7, 8, &[1 << 5 | 1, 4])), Some((false, 1)));
    }

    /// Lengths that lead out of the page, at each of its bytes.
    #[test]
    fn no_bytes_lead_out_of_the_page() {
        for kind in 0..32 {
            for length in [0, 3, 4, 5, u32::MAX] {
                let whole = page(1, LENGTH, &[8 << 5 | kind, length, 1, 2 << 5 | 1, 0]);
                for end in 0..=whole.len() {
                    assert!(
                        Page::of(&whole[..end]).is_none_or(|page| page.count() < 8),
                        "{kind} {length} {end}"
                    );
                }
            }
        }
    }
}
