//! Option text as values: durations, times and lists of CPUs, spelled as perf spells them.

use analysis::request::TimeRange;
use anyhow::{Context as _, Result, bail};
use model::{Cpu, CpuList, PerfTime};

/// `10us`, `1.5ms`, `800ns`, `2s`. A bare number is none: of ten, some mean nanoseconds, others milliseconds.
pub(crate) fn duration_ns(text: &str) -> Result<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let decimals: u32 = match unit {
        "ns" => 0,
        "us" | "µs" => 3,
        "ms" => 6,
        "s" => 9,
        "" if decimal(number.trim(), 0).is_some() => {
            bail!("'{text}' has no unit, and is no duration: write {text}ns, {text}us, {text}ms or {text}s")
        }
        _ => bail!("'{text}' is no duration: write it as 800ns, 10us, 1.5ms or 2s"),
    };
    decimal(number.trim(), decimals)
        .with_context(|| format!("'{text}' is no duration: write it as 800ns, 10us, 1.5ms or 2s"))
}

/// `99`, `99.9`, `p99.9`; some write a comma.
pub(crate) fn percentile(text: &str) -> Result<f64, String> {
    let number = text.strip_prefix(['p', 'P']).unwrap_or(text).replace(',', ".");
    number.parse().map_err(|_| format!("'{text}' is no percentile: write it as 99, 99.9 or p99.9"))
}

/// A decimal number times 10^`decimals`, exactly; digits beyond that are cut.
fn decimal(text: &str, decimals: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    let scale = 10u64.checked_pow(decimals)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let width = usize::try_from(decimals).ok()?;
    let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(width).collect();
    let fraction: u64 = if padded.is_empty() { 0 } else { padded.parse().ok()? };
    whole.checked_mul(scale)?.checked_add(fraction)
}

/// perf's `--time`: `START,STOP` in seconds, either may be left out; several ranges separated by blanks.
pub(crate) fn times(text: Option<&str>) -> Result<Vec<TimeRange>> {
    let reading = |seconds: &str| -> Result<Option<PerfTime>> {
        if seconds.is_empty() {
            return Ok(None);
        }
        let ns = decimal(seconds, 9)
            .with_context(|| format!("'{seconds}' is no time: write seconds, as perf script prints them"))?;
        Ok(Some(PerfTime(ns)))
    };
    text.unwrap_or("")
        .split_whitespace()
        .map(|range| {
            let (from, to) = range.split_once(',').unwrap_or((range, ""));
            let times = TimeRange { from: reading(from)?, to: reading(to)? };
            if let (Some(from), Some(to)) = (times.from, times.to)
                && to < from
            {
                bail!("'{range}' is no range of times: STOP lies before START");
            }
            Ok(times)
        })
        .collect()
}

/// perf's `-C`: `0,2-3`.
pub(crate) fn cpus(text: Option<&str>) -> Result<Vec<Cpu>> {
    let text = text.unwrap_or("");
    let list = CpuList::parse(text).with_context(|| format!("'{text}' is no list of CPUs: write 0,2-3"))?;
    Ok(list.iter().collect())
}

#[cfg(test)]
mod tests;
