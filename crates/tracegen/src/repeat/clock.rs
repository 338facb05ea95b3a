//! How far repetitions lie apart: in TSC ticks, and in perf time.
//!
//! Invariant: the period is a multiple of what MTC and TMA packets can distinguish, so that their payloads stay as they are.
//! Source: Intel SDM vol. 3, "Intel Processor Trace", TMA and MTC packets; tools/perf/util/tsc.c for the conversion.

use super::stream::Stream;
use crate::capture::{Capture, kind};
use crate::error::Error;

/// `priv` words of an `AUXTRACE_INFO` record of Intel PT, counted from the record's first byte.
const PMU: usize = 16;
const TIME_SHIFT: usize = 24;
const TIME_MULT: usize = 32;
const SNAPSHOT: usize = 80;
const MTC_MASK: usize = 104;
const TSC_NUMERATOR: usize = 112;
const TSC_DENOMINATOR: usize = 120;

/// Intel PT's number in `AUXTRACE_INFO`.
const INTEL_PT: u32 = 1;

/// The capture's clocks and the chosen period.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeriodClock {
    /// Nanoseconds = ticks × `mult` >> `shift`.
    mult: u64,
    shift: u32,
    /// The period is a multiple of so many ticks.
    unit: u64,
    /// Ticks from one repetition to the next.
    pub(super) period: u64,
}

impl PeriodClock {
    pub(super) fn of(capture: &Capture) -> Result<PeriodClock, Error> {
        let info = capture.records.iter().find(|record| record.kind == kind::AUXTRACE_INFO);
        let start = info.map_or(0, |record| record.place.start);
        if info.is_none() || capture.u32(start + 8)? != INTEL_PT {
            return Err(capture.wrong(start, "no AUXTRACE_INFO of Intel PT: nothing to repeat"));
        }
        if capture.u64(start + SNAPSHOT)? != 0 {
            return Err(capture.wrong(start + SNAPSHOT, "a snapshot cannot be repeated: take a full trace"));
        }
        let (mult, shift) = (capture.u64(start + TIME_MULT)?, capture.u64(start + TIME_SHIFT)?);
        let shift = u32::try_from(shift).ok().filter(|&shift| shift < 64 && mult != 0);
        let Some(shift) = shift else {
            return Err(
                capture.wrong(start + TIME_SHIFT, "no TSC to time conversion: records cannot be shifted")
            );
        };
        Ok(PeriodClock { mult, shift, unit: mtc_wrap(capture, start)?, period: 0 })
    }

    /// Sets the shortest possible period for records that span `nanoseconds` and for `streams`; of the next few the one
    /// nearest to a whole number of nanoseconds, so that record times and converted packet times shift alike.
    pub(super) fn choose_period(&mut self, nanoseconds: u64, streams: &[Stream]) {
        let (first, last) = streams.iter().fold((u64::MAX, 0), |(first, last), stream| {
            (first.min(stream.first_tsc), last.max(stream.last_tsc))
        });
        let by_records = (u128::from(nanoseconds) << self.shift).div_ceil(u128::from(self.mult));
        let by_records = u64::try_from(by_records).unwrap_or(u64::MAX);
        // A tenth more: packets after the last TSC still take time.
        let span = last.saturating_sub(first).max(by_records);
        let fewest = (span / 10 * 11).div_ceil(self.unit).max(1);
        let fraction =
            |units: u64| (u128::from(units * self.unit) * u128::from(self.mult)) % (1 << self.shift);
        let best = (fewest..=fewest + fewest / 4 + 16).min_by_key(|&units| fraction(units));
        self.period = best.unwrap_or(fewest) * self.unit;
    }

    /// Nanoseconds that `turns` periods take, rounded down.
    pub(super) fn nanoseconds(&self, turns: u64) -> u64 {
        let ticks = u128::from(self.period) * u128::from(turns);
        u64::try_from((ticks * u128::from(self.mult)) >> self.shift).unwrap_or(u64::MAX)
    }
}

/// Ticks after which both the 16 bits of TMA and the 8 bits of MTC repeat; 1 where there are none.
fn mtc_wrap(capture: &Capture, info: usize) -> Result<u64, Error> {
    let (numerator, denominator) = (capture.u64(info + TSC_NUMERATOR)?, capture.u64(info + TSC_DENOMINATOR)?);
    if numerator == 0 || denominator == 0 {
        return Ok(1);
    }
    let (pmu, mask) = (capture.u64(info + PMU)?, capture.u64(info + MTC_MASK)?);
    let attribute = capture.attributes.iter().find(|attribute| u64::from(attribute.pmu) == pmu);
    let frequency =
        attribute.map_or(0, |attribute| (attribute.config & mask) >> mask.trailing_zeros().min(63));
    let crystal_ticks = 1u64 << (frequency + 8).clamp(16, 40);
    // CTC = TSC × denominator / numerator must grow by a multiple of `crystal_ticks`.
    let common = gcd(numerator, denominator);
    let (numerator, denominator) = (numerator / common, denominator / common);
    numerator
        .checked_mul(crystal_ticks / gcd(denominator, crystal_ticks))
        .ok_or_else(|| capture.wrong(info + TSC_NUMERATOR, "a TSC to crystal ratio that no CPU has"))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
