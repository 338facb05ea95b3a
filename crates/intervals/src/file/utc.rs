//! `YYYY-MM-DD hh:mm:ss[.fraction]` in UTC, as `VTune`'s import CSV writes it, to nanoseconds since 1970.

use super::cells::unsigned;

/// Nanoseconds since 1970-01-01 00:00:00 UTC; `None` where `cell` is no such date or does not fit.
pub(super) fn nanoseconds(cell: &[u8]) -> Option<u64> {
    let cell = cell.strip_suffix(b"Z").unwrap_or(cell);
    let (date, time) = cell.split_at_checked(10)?;
    let time = time.strip_prefix(b" ").or_else(|| time.strip_prefix(b"T"))?;
    let [year, month, day] = numbers::<3>(date, b'-')?;
    let (clock, fraction) = match time.iter().position(|&byte| byte == b'.') {
        Some(dot) => (&time[..dot], fraction_ns(&time[dot + 1..])?),
        None => (time, 0),
    };
    let [hour, minute, second] = numbers::<3>(clock, b':')?;
    let possible = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    let seconds = || (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    possible.then(seconds)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn numbers<const N: usize>(text: &[u8], separator: u8) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(|&byte| byte == separator);
    for number in &mut numbers {
        *number = parts.next().filter(|part| part.iter().all(u8::is_ascii_digit)).and_then(unsigned)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Nanoseconds of the digits after the point; more than nine are cut.
fn fraction_ns(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some((0..9).fold(0, |ns, place| ns * 10 + digits.get(place).map_or(0, |digit| u64::from(digit - b'0'))))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let leaps_before = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let years = (year - 1970) * 365 + leaps_before(year) - leaps_before(1970);
    years + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1
}
