//! The doorbell of `tailtrace record --snapshot-over`: from when on an interval is slow, and the pipe that gets a line for each such one.
//!
//! Input: the environment, `TAILTRACE_OVER` (`200us,LABEL;p99.9`) and `TAILTRACE_DOORBELL`. Output: lines `0xBEGIN 0xEND LABEL`, in ticks.
//! Limits are known some 100 ms after the file is opened; a percentile, when ten intervals lie above it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::boxed::Box;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::vec::Vec;

use crate::clock::{Clock, Pair};
use crate::system;

/// How many intervals were how long: 32 bins for each doubling of the ticks.
const BINS: usize = 1920;
/// A percentile is known when so many intervals lie above it; from so many on older ones count half.
const FEWEST_ABOVE: u64 = 10;
const MOST_ABOVE: u64 = 200;
/// Bytes of a label in a line.
const MOST_LABEL: usize = 127;
/// Limits that are read.
const MOST_LIMITS: usize = 16;
const MILLION: u64 = 1_000_000;
/// The kernel's `O_NONBLOCK`: a full pipe takes nothing.
const NONBLOCK: i32 = 0o4000;

static DOORBELL: OnceLock<Option<Doorbell>> = OnceLock::new();
/// From how many ticks on an interval may be slow, the least of the limits; 0: none is known.
static OVER: AtomicU64 = AtomicU64::new(0);

struct Doorbell {
    pipe: File,
    limits: Vec<Limit>,
    /// What the first conversion of the limits read.
    first: OnceLock<Pair>,
}

/// From when on an interval of a label is slow.
struct Limit {
    /// Empty: of all that have no limit of their own.
    label: Box<[u8]>,
    over: Over,
    /// In ticks; 0 while that is not known.
    ticks: AtomicU64,
}

enum Over {
    Nanoseconds(u64),
    /// One of the longest, `above` millionths of all.
    Percentile {
        above: u64,
        bins: Box<[AtomicU32; BINS]>,
    },
}

/// Whether an interval of so many ticks may be slow.
#[inline]
pub(crate) fn may_be_slow(ticks: u64) -> bool {
    // Without a limit the right side is the largest number there is.
    ticks > OVER.load(Ordering::Relaxed).wrapping_sub(1)
}

/// Opens the pipe and reads the limits that the environment names; nothing where it does not, and after the first time.
pub(crate) fn open() {
    let made = DOORBELL.get_or_init(|| {
        let (over, path) = (std::env::var("TAILTRACE_OVER").ok()?, std::env::var_os("TAILTRACE_DOORBELL")?);
        Doorbell::open(&over, &path)
    });
    // Percentiles count all intervals from the first one on.
    let counts = |limit: &Limit| matches!(limit.over, Over::Percentile { .. });
    if made.as_ref().is_some_and(|doorbell| doorbell.limits.iter().any(counts)) {
        OVER.store(1, Ordering::Relaxed);
    }
}

/// The time between two readings says what a tick is; of a percentile, how long intervals were. For the writing thread, again and again.
pub(crate) fn convert_limits() {
    let Some((doorbell, now)) = DOORBELL.get().and_then(Option::as_ref).zip(Clock::MonotonicRaw.pair())
    else {
        return;
    };
    if let Some(least) = doorbell.convert(now) {
        OVER.store(least, Ordering::Relaxed);
    }
}

/// Rings for an interval of `label` that took longer than its limit. A signal handler may call it.
#[cold]
pub(crate) fn ring(label: &CStr, begin: u64, end: u64) {
    if let Some(doorbell) = DOORBELL.get().and_then(Option::as_ref) {
        doorbell.judge(label.to_bytes(), begin, end);
    }
}

impl Doorbell {
    /// `None` where nothing reads from the pipe, or no limit is one.
    fn open(over: &str, path: &OsStr) -> Option<Doorbell> {
        let limits: Vec<Limit> = over.split(';').filter_map(Limit::read).take(MOST_LIMITS).collect();
        // It cannot be opened for writing alone where nothing reads.
        OpenOptions::new().write(true).custom_flags(NONBLOCK).open(path).ok()?;
        // This process is a reader, too: a write raises no SIGPIPE when the recorder is gone.
        let pipe = OpenOptions::new().read(true).write(true).custom_flags(NONBLOCK).open(path).ok()?;
        (!limits.is_empty()).then_some(Doorbell { pipe, limits, first: OnceLock::new() })
    }

    /// The least of the limits in ticks, which hold from now on; `None` at the first call.
    fn convert(&self, now: Pair) -> Option<u64> {
        let first = self.first.get_or_init(|| now);
        let (ticks, ns) = (now.tsc.saturating_sub(first.tsc), now.ns.saturating_sub(first.ns));
        if ticks == 0 || ns == 0 {
            return None;
        }
        self.limits.iter().map(|limit| limit.convert(ticks, ns)).min()
    }

    fn limit_of(&self, label: &[u8]) -> Option<&Limit> {
        let of = |wanted: &[u8]| self.limits.iter().find(|limit| *limit.label == *wanted);
        of(label).or_else(|| of(b""))
    }

    fn judge(&self, label: &[u8], begin: u64, end: u64) {
        let Some(limit) = self.limit_of(label) else { return };
        let took = end.wrapping_sub(begin);
        if let Over::Percentile { bins, .. } = &limit.over {
            bins[bin(took)].fetch_add(1, Ordering::Relaxed);
        }
        let ticks = limit.ticks.load(Ordering::Relaxed);
        if ticks != 0 && took >= ticks {
            let mut bytes = [0; LINE];
            // What does not fit into a full pipe is missing: a ring that perf is about to write holds it, too.
            system::write(self.pipe.as_raw_fd(), line(&mut bytes, label, begin, end));
        }
    }
}

impl Limit {
    /// Reads `200us,LABEL` or `p99.9`; `None` where that is no limit.
    fn read(text: &str) -> Option<Limit> {
        let (amount, label) = text.split_once(',').unwrap_or((text, ""));
        let over = match amount.strip_prefix('p') {
            Some(percentile) => Over::Percentile {
                above: above(percentile)?,
                bins: Box::new([const { AtomicU32::new(0) }; BINS]),
            },
            None => Over::Nanoseconds(nanoseconds(amount)?),
        };
        let label = (label.len() <= MOST_LABEL).then(|| label.as_bytes().into())?;
        Some(Limit { label, over, ticks: AtomicU64::new(0) })
    }

    /// A tick is `ns / ticks` nanoseconds. Returns from how many ticks on an interval is to be looked at.
    fn convert(&self, ticks: u64, ns: u64) -> u64 {
        match &self.over {
            Over::Nanoseconds(limit) => {
                let limit = u128::from(*limit) * u128::from(ticks) / u128::from(ns);
                let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
                self.ticks.store(limit, Ordering::Relaxed);
                limit
            }
            Over::Percentile { above, bins } => {
                if let Some(known) = percentile(&bins[..], *above) {
                    self.ticks.store(known.max(1), Ordering::Relaxed);
                }
                1
            }
        }
    }
}

/// `99.9` as the millionths that lie above; `None` where that is no upper percentile.
fn above(percentile: &str) -> Option<u64> {
    let value: f64 = percentile.parse().ok().filter(|value| (50.0..100.0).contains(value))?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 500,000")]
    let above = ((100.0 - value) * 10_000.0).round() as u64;
    (above > 0).then_some(above)
}

fn nanoseconds(amount: &str) -> Option<u64> {
    let unit = amount.find(|character: char| !character.is_ascii_digit())?;
    let factor = match &amount[unit..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => MILLION,
        "s" => 1_000 * MILLION,
        _ => return None,
    };
    amount[..unit].parse::<u64>().ok()?.checked_mul(factor).filter(|&ns| ns > 0)
}

/// In which bin so many ticks are counted: to 3 %.
fn bin(ticks: u64) -> usize {
    let doublings = u64::BITS - 1 - (ticks | 31).leading_zeros();
    let bin =
        if ticks < 32 { ticks } else { u64::from(doublings - 4) * 32 + (ticks >> (doublings - 5) & 31) };
    usize::try_from(bin).map_or(BINS - 1, |bin| bin.min(BINS - 1))
}

/// The least ticks of a bin.
fn bin_begin(bin: usize) -> u64 {
    let number = bin as u64;
    if number < 32 { number } else { (32 + number % 32) << (number / 32 - 1) }
}

/// From how many ticks on an interval is one of the longest, `above` millionths of all; `None` where too few are known.
fn percentile(bins: &[AtomicU32], above: u64) -> Option<u64> {
    let all: u64 = bins.iter().map(|bin| u64::from(bin.load(Ordering::Relaxed))).sum();
    if all * above < FEWEST_ABOVE * MILLION {
        return None;
    }
    let mut longer = 0;
    let is_within = |&number: &usize| {
        longer += u64::from(bins[number].load(Ordering::Relaxed));
        longer * MILLION > all * above
    };
    let found = (0..bins.len()).rev().find(is_within).unwrap_or(0);
    if all * above > MOST_ABOVE * MILLION {
        halve(bins);
    }
    Some(bin_begin(found))
}

/// Each count becomes half. What one bin cannot halve is taken from the next one: of bins that count one, every other becomes empty.
fn halve(bins: &[AtomicU32]) {
    let mut carried = 0;
    for bin in bins {
        let twice = bin.load(Ordering::Relaxed).saturating_add(carried);
        // Other threads count during this.
        bin.fetch_sub(twice / 2, Ordering::Relaxed);
        carried = twice % 2;
    }
}

/// Two numbers of 18 characters, each with a space, the label and the end of the line: less than the kernel's `PIPE_BUF`, so that lines of
/// several threads do not mix.
const LINE: usize = 2 * 19 + MOST_LABEL + 1;

/// `0x` and 16 digits twice, the label, and the end of the line.
fn line<'b>(bytes: &'b mut [u8; LINE], label: &[u8], begin: u64, end: u64) -> &'b [u8] {
    let mut filled = 0;
    let mut put = |byte| {
        bytes[filled] = byte;
        filled += 1;
    };
    for number in [begin, end] {
        put(b'0');
        put(b'x');
        (0..16).rev().for_each(|place| put(b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]));
        put(b' ');
    }
    label.iter().take(MOST_LABEL).for_each(|&byte| put(if byte == b'\n' { b' ' } else { byte }));
    put(b'\n');
    &bytes[..filled]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn limit(text: &str) -> Option<(String, u64)> {
        let limit = Limit::read(text)?;
        let amount = match limit.over {
            Over::Nanoseconds(ns) => ns,
            Over::Percentile { above, .. } => above,
        };
        Some((String::from_utf8_lossy(&limit.label).into_owned(), amount))
    }

    #[test]
    fn limits_are_lengths_or_upper_percentiles() {
        assert_eq!(limit("200us,order"), Some(("order".into(), 200_000)));
        assert_eq!(limit("1ms"), Some((String::new(), 1_000_000)));
        assert_eq!(limit("p99.9,order"), Some(("order".into(), 1_000)));
        assert_eq!(limit("p99.99"), Some((String::new(), 100)));
        for bad in ["", "200", "us", "0us", "p49", "p100", "pus", "1h", "99999999999999999999s"] {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_bin_begins_where_the_one_before_ends() {
        let mut next = 0;
        for ticks in 0..100_000 {
            if bin(ticks) == next {
                assert_eq!(bin_begin(next), ticks);
                next += 1;
            }
            assert_eq!(bin(ticks) + 1, next, "{ticks}");
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    /// Of 1 to 20,000 ticks, one in a thousand lies above 19,980; the bin begins 32nds of a doubling below.
    #[test]
    fn a_percentile_is_known_when_ten_lie_above() {
        let bins: Vec<AtomicU32> = (0..BINS).map(|_| AtomicU32::new(0)).collect();
        let count = |ticks| {
            bins[bin(ticks)].fetch_add(1, Ordering::Relaxed);
        };
        (1..9_999).for_each(count);
        assert_eq!(percentile(&bins, 1_000), None);
        (9_999..=20_000).for_each(count);
        let found = percentile(&bins, 1_000).expect("known");
        assert!((19_980 - 512..=19_980).contains(&found), "{found}");
    }

    #[test]
    fn old_intervals_count_half() {
        let bins = [3, 1, 1, 1, 1].map(AtomicU32::new);
        halve(&bins);
        assert_eq!(bins.map(AtomicU32::into_inner), [2, 0, 1, 0, 1]);
    }

    #[test]
    fn a_line_has_both_times_and_the_label() {
        let mut bytes = [0; LINE];
        assert_eq!(
            line(&mut bytes, b"or\nder", 0x12ab, u64::MAX),
            b"0x00000000000012ab 0xffffffffffffffff or der\n"
        );
        assert_eq!(line(&mut bytes, &[b'x'; 300], 1, 2).len(), LINE);
    }
}
