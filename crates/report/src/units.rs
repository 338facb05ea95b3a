//! Lengths, counts and shares as people read them: three or four digits, one unit, never `1000.0 us`.

use crate::timebase::TimeUnit;

/// How a length is written while its rounded figure stays below the limit.
struct Scale {
    unit: &'static str,
    nanoseconds: u128,
    decimals: u32,
    below: u128,
}

/// Tried in order; the last has no limit. Rounding comes first, so 999 960 ns is `1.00 ms`.
const SCALES: [Scale; 7] = [
    Scale { unit: "ns", nanoseconds: 1, decimals: 0, below: 1000 },
    Scale { unit: "us", nanoseconds: 1_000, decimals: 2, below: 10 },
    Scale { unit: "us", nanoseconds: 1_000, decimals: 1, below: 1000 },
    Scale { unit: "ms", nanoseconds: 1_000_000, decimals: 2, below: 10 },
    Scale { unit: "ms", nanoseconds: 1_000_000, decimals: 1, below: 1000 },
    Scale { unit: "s", nanoseconds: 1_000_000_000, decimals: 2, below: 10 },
    Scale { unit: "s", nanoseconds: 1_000_000_000, decimals: 1, below: u128::MAX / 100 },
];

/// `412.3 us`, `45 ns`; `1234 ticks` where the unit is ticks.
pub fn length(value: u64, unit: TimeUnit) -> String {
    Digits { more: 0, unit }.show(value)
}

/// A mean to the whole unit; a dash for what is no number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a finite mean of u64, rounded")]
pub fn mean_length(mean: f64, unit: TimeUnit) -> String {
    if mean.is_finite() { length(mean.max(0.0).round() as u64, unit) } else { "-".to_owned() }
}

/// How times that stand below one another are written: with as many digits as distinguish those that differ, to the nanosecond
/// if need be. `44.0 ms` and `44.0 ms` become `44.0123 ms` and `44.0124 ms`.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    /// Decimals beyond the usual ones.
    more: u32,
    unit: TimeUnit,
}

impl Digits {
    /// For these times.
    pub fn of(times: impl IntoIterator<Item = u64>, unit: TimeUnit) -> Digits {
        let mut times: Vec<u64> = times.into_iter().collect();
        times.sort_unstable();
        times.dedup();
        let distinguishes = |digits: &Digits| {
            let shown: Vec<String> = times.iter().map(|&time| digits.show(time)).collect();
            shown.windows(2).all(|pair| pair[0] != pair[1])
        };
        let most = SCALES.iter().map(Scale::most_decimals).max().unwrap_or(0);
        let mut all = (0..=most).map(|more| Digits { more, unit });
        all.find(distinguishes).unwrap_or(Digits { more: most, unit })
    }

    /// One of them.
    pub fn show(&self, time: u64) -> String {
        match self.unit {
            TimeUnit::Ticks => format!("{time} ticks"),
            TimeUnit::Nanoseconds => SCALES
                .iter()
                .find_map(|scale| scale.write(u128::from(time), self.more))
                .unwrap_or_else(|| format!("{time} ns")),
        }
    }
}

/// The same with its sign: `+389.1 us`, `-20 ns`; zero has none.
pub fn signed_length(value: i64, unit: TimeUnit) -> String {
    let sign = match value {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", length(value.unsigned_abs(), unit))
}

/// Microseconds with three decimals, for tables of one unit; ticks stay ticks.
pub(crate) fn microseconds(value: u64, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Ticks => value.to_string(),
        TimeUnit::Nanoseconds => format!("{}.{:03}", value / 1000, value % 1000),
    }
}

/// `17.2 MiB`, `512 B`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut tenths = u128::from(value) * 10;
    if value < 1024 {
        return format!("{value} B");
    }
    for unit in UNITS {
        tenths = (tenths + 512) / 1024;
        if tenths < 10_240 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{} PiB", tenths / 10)
}

/// `2.600 GHz`, `24.000 MHz`.
pub(crate) fn hertz(value: u64) -> String {
    if value >= 999_999_500 {
        let mega = (u128::from(value) + 500_000) / 1_000_000;
        format!("{}.{:03} GHz", mega / 1000, mega % 1000)
    } else {
        let kilo = (u128::from(value) + 500) / 1000;
        format!("{}.{:03} MHz", kilo / 1000, kilo % 1000)
    }
}

/// `1 interval`, `2 intervals`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `704,268`: for counts that are too long to be read without commas.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let commas = |(at, digit): (usize, char)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(commas).collect()
}

/// `text (note)`, or `text` alone where there is no note.
pub(crate) fn noted(text: &str, note: &str) -> String {
    if note.is_empty() { text.to_owned() } else { format!("{text} ({note})") }
}

/// A whole percentage of `part` in `whole`, as `94 %`; `<1 %` and `>99 %` keep rounding from lying.
pub fn percentage(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let rounded = (part * 200 + whole) / (whole * 2);
    match rounded {
        0 if part > 0 => "<1 %".to_owned(),
        100 if part < whole => ">99 %".to_owned(),
        _ => format!("{rounded} %"),
    }
}

/// `p 0.012`, `p < 0.001`.
pub(crate) fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p {p:.3}") }
}

/// `94 %`; `<1 %` and `>99 %` keep rounding from lying.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        part if part > 0.0 && part < 0.5 => "<1 %".to_owned(),
        part if (99.5..100.0).contains(&part) => ">99 %".to_owned(),
        part => format!("{part:.0} %"),
    }
}

/// `part` of `whole` as a number from 0 to 1; 0 of nothing.
#[allow(clippy::cast_precision_loss)] // a share to be shown
pub(crate) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Scale {
    /// Those of a nanosecond.
    fn most_decimals(&self) -> u32 {
        self.nanoseconds.ilog10()
    }

    /// With so many decimals `more` than usual.
    fn write(&self, nanoseconds: u128, more: u32) -> Option<String> {
        let decimals = (self.decimals + more).min(self.most_decimals());
        let power = 10u128.pow(decimals);
        let rounded = (nanoseconds * power + self.nanoseconds / 2) / self.nanoseconds;
        if rounded / power >= self.below {
            return None;
        }
        Some(match decimals {
            0 => format!("{rounded} {}", self.unit),
            decimals => {
                format!(
                    "{}.{:0width$} {}",
                    rounded / power,
                    rounded % power,
                    self.unit,
                    width = decimals as usize
                )
            }
        })
    }
}

#[cfg(test)]
mod tests;
