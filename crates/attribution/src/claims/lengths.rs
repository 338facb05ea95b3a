//! Lengths of time in words.

/// How a length is written while its rounded figure stays below the limit.
struct Scale {
    unit: &'static str,
    /// The length of the last decimal, in ns, and how many of them are one unit.
    step_ns: u64,
    steps: u64,
    /// In steps.
    below: u64,
}

/// The units of reports, so that no number stands in two of them; tried in order. Microseconds have one decimal.
const SCALES: [Scale; 5] = [
    Scale { unit: "us", step_ns: 100, steps: 10, below: 10_000 },
    Scale { unit: "ms", step_ns: 10_000, steps: 100, below: 1_000 },
    Scale { unit: "ms", step_ns: 100_000, steps: 10, below: 10_000 },
    Scale { unit: "s", step_ns: 10_000_000, steps: 100, below: 1_000 },
    Scale { unit: "s", step_ns: 100_000_000, steps: 10, below: u64::MAX },
];

/// `47.6 us`, `1.10 ms`: to the nearest.
pub(crate) fn tell_ns(ns: u64) -> String {
    let of = |scale: &Scale| ns.saturating_add(scale.step_ns / 2) / scale.step_ns;
    let written = SCALES.iter().find(|scale| of(scale) < scale.below).map(|scale| {
        let (whole, part) = (of(scale) / scale.steps, of(scale) % scale.steps);
        let digits = if scale.steps == 10 { 1 } else { 2 };
        format!("{whole}.{part:0digits$} {}", scale.unit)
    });
    written.unwrap_or_else(|| format!("{ns} ns"))
}

#[cfg(test)]
mod tests {
    use super::tell_ns;

    /// 47.594 us is nearer to 47.6 than to 47.5, and 999.96 us to a millisecond than to 999.9 us.
    #[test]
    fn lengths_are_rounded_in_the_units_of_reports() {
        let told = [49, 50, 47_594, 999_949, 999_950, 1_095_849, 9_996_000, 43_912_000, 1_204_000_000];
        let expected =
            ["0.0 us", "0.1 us", "47.6 us", "999.9 us", "1.00 ms", "1.10 ms", "10.0 ms", "43.9 ms", "1.20 s"];
        assert_eq!(told.map(tell_ns), expected);
        assert_eq!(tell_ns(u64::MAX), "18446744073.7 s");
    }
}
