//! The doorbell of `tailtrace record --snapshot-over`: from when on an interval is slow, and the pipe that gets a line for each such one.
//!
//! Input: the environment, `TAILTRACE_OVER` (`200us,LABEL;p99.9`) and `TAILTRACE_DOORBELL`. Output: lines `0xBEGIN 0xEND LABEL`, in ticks;
//! those of the writing thread begin with `late`.
//! Limits are known some 100 ms after the file is opened; a percentile, when ten intervals lie above it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::boxed::Box;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::vec::Vec;

use crate::clock::{Clock, Pair};
use crate::percentile::RunningPercentile;
use crate::system;

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
    /// One of the longest.
    Percentile(RunningPercentile),
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
    let counts = |limit: &Limit| matches!(limit.over, Over::Percentile(_));
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
        doorbell.judge(b"", label.to_bytes(), begin, end);
    }
}

/// The same on the writing thread, for an end that was not compared.
pub(crate) fn ring_late(label: &[u8], begin: u64, end: u64) {
    if let Some(doorbell) = DOORBELL.get().and_then(Option::as_ref) {
        doorbell.judge(LATE, label, begin, end);
    }
}

/// Whether anything rings.
pub(crate) fn is_there() -> bool {
    DOORBELL.get().is_some_and(Option::is_some)
}

/// Whether an interval of `label` can be slow.
pub(crate) fn has_limit(label: &[u8]) -> bool {
    DOORBELL.get().and_then(Option::as_ref).is_some_and(|doorbell| doorbell.limit_of(label).is_some())
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

    fn judge(&self, first: &[u8], label: &[u8], begin: u64, end: u64) {
        let Some(limit) = self.limit_of(label) else { return };
        let took = end.wrapping_sub(begin);
        if let Over::Percentile(counts) = &limit.over {
            counts.add(took);
        }
        let ticks = limit.ticks.load(Ordering::Relaxed);
        if ticks != 0 && took >= ticks {
            let mut bytes = [0; LINE];
            // What does not fit into a full pipe is missing: a ring that perf is about to write holds it, too.
            system::write(self.pipe.as_raw_fd(), line(&mut bytes, first, label, begin, end));
        }
    }
}

impl Limit {
    /// Reads `200us,LABEL` or `p99.9`; `None` where that is no limit.
    fn read(text: &str) -> Option<Limit> {
        let (amount, label) = text.split_once(',').unwrap_or((text, ""));
        let over = match amount.strip_prefix('p') {
            Some(percentile) => Over::Percentile(RunningPercentile::of(percentile)?),
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
            Over::Percentile(counts) => {
                if let Some(known) = counts.limit() {
                    self.ticks.store(known, Ordering::Relaxed);
                }
                1
            }
        }
    }
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

/// The first word of lines that the writing thread writes.
const LATE: &[u8] = b"late ";

/// Five characters, two numbers of 18 characters, each with a space, the label and the end of the line: less than the kernel's `PIPE_BUF`, so that lines of
/// several threads do not mix.
const LINE: usize = LATE.len() + 2 * 19 + MOST_LABEL + 1;

/// The first word, `0x` and 16 digits twice, the label, and the end of the line.
fn line<'b>(bytes: &'b mut [u8; LINE], first: &[u8], label: &[u8], begin: u64, end: u64) -> &'b [u8] {
    let mut filled = 0;
    let mut put = |byte| {
        bytes[filled] = byte;
        filled += 1;
    };
    for &byte in first {
        put(byte);
    }
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
            Over::Percentile(_) => 0,
        };
        Some((String::from_utf8_lossy(&limit.label).into_owned(), amount))
    }

    #[test]
    fn limits_are_lengths_or_upper_percentiles() {
        assert_eq!(limit("200us,order"), Some(("order".into(), 200_000)));
        assert_eq!(limit("1ms"), Some((String::new(), 1_000_000)));
        assert_eq!(limit("p99.9,order"), Some(("order".into(), 0)));
        for bad in ["", "200", "us", "0us", "p49", "p100", "pus", "1h", "99999999999999999999s"] {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_line_has_both_times_and_the_label() {
        let mut bytes = [0; LINE];
        assert_eq!(
            line(&mut bytes, b"", b"or\nder", 0x12ab, u64::MAX),
            b"0x00000000000012ab 0xffffffffffffffff or der\n"
        );
        assert_eq!(line(&mut bytes, LATE, &[b'x'; 300], 1, 2).len(), LINE);
    }
}
