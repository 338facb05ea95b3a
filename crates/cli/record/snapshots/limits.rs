//! From when on an interval is slow, by its label.
//!
//! Input: `200us,LABEL` or `p99.9,LABEL`, or the same without a label for all labels that have no limit of their own. Output: the same
//! for the program (`tailtrace.h` reads it), for the choice of intervals, and for the account. A percentile is the program's own: what it
//! rang for was slow.

use anyhow::{Context as _, Result, ensure};
use report::SlowLimit;

use crate::args::text;

/// `tailtrace.h` has room for so many, and for labels of fewer bytes than these.
const MOST: usize = 16;
const LABEL_BYTES: usize = 128;

/// The limits, each label's once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits(Vec<SlowLimit>);

/// From when on an interval is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Longer than so many nanoseconds.
    OverNs(u64),
    /// Where the program rang for it.
    Percentile,
}

impl Limits {
    /// The limits as they are given.
    ///
    /// # Errors
    /// Where one is neither a time nor a percentile, or cannot be given to the program.
    pub(crate) fn read(given: &[String]) -> Result<Limits> {
        let mut limits: Vec<SlowLimit> = Vec::new();
        for text in given {
            let limit = read(text)?;
            ensure!(
                !limits.iter().any(|known| known.label == limit.label),
                "{text}: there is a limit for this already"
            );
            let name = limit.label.as_deref().unwrap_or("all");
            ensure!(
                !name.is_empty() && name.len() < LABEL_BYTES && !name.contains(';'),
                "{text}: a label has up to {} bytes, and no semicolon",
                LABEL_BYTES - 1
            );
            limits.push(limit);
        }
        ensure!(limits.len() <= MOST, "there may be {MOST} limits");
        Ok(Limits(limits))
    }

    /// Whether there is one, for all intervals.
    pub(crate) fn is_one(&self) -> bool {
        matches!(&self.0[..], [SlowLimit { label: None, .. }])
    }

    /// The percentile of intervals without a limit of their own, where they have one.
    pub(super) fn percentile(&self) -> Option<&str> {
        self.0.iter().find(|limit| limit.label.is_none())?.percentile.as_deref()
    }

    /// As `tailtrace.h` reads them.
    pub(super) fn for_program(&self) -> String {
        let of = |limit: &SlowLimit| {
            let over = match (limit.over_ns, &limit.percentile) {
                (Some(over), _) => format!("{over}ns"),
                (None, percentile) => format!("p{}", percentile.as_deref().unwrap_or_default()),
            };
            over + &limit.label.as_ref().map_or_else(String::new, |label| format!(",{label}"))
        };
        self.0.iter().map(of).collect::<Vec<_>>().join(";")
    }

    /// The limit for intervals of this label; `None` where there is none.
    pub(super) fn of(&self, label: &str) -> Option<Limit> {
        let own = self.0.iter().find(|limit| limit.label.as_deref() == Some(label));
        let limit = own.or_else(|| self.0.iter().find(|limit| limit.label.is_none()))?;
        Some(limit.over_ns.map_or(Limit::Percentile, Limit::OverNs))
    }

    /// The least one, in nanoseconds: 0 where one is a percentile.
    pub(super) fn least_ns(&self) -> u64 {
        self.0.iter().map(|limit| limit.over_ns.unwrap_or(0)).min().unwrap_or(u64::MAX)
    }

    /// The labels, where no other one has a limit.
    pub(super) fn labels(&self) -> Vec<String> {
        let labels: Option<Vec<String>> = self.0.iter().map(|limit| limit.label.clone()).collect();
        labels.unwrap_or_default()
    }

    /// As the account has them.
    pub(super) fn listed(&self) -> Vec<SlowLimit> {
        self.0.clone()
    }
}

fn read(text: &str) -> Result<SlowLimit> {
    let (over, label) = match text.split_once(',') {
        Some((over, label)) => (over, Some(label.to_owned())),
        None => (text, None),
    };
    if let Some(percentile) = over.strip_prefix('p') {
        return Ok(SlowLimit { label, over_ns: None, percentile: Some(upper_percentile(percentile)?) });
    }
    let over_ns = text::duration_ns(over)?;
    ensure!(over_ns > 0, "{text}: a limit is longer than nothing");
    Ok(SlowLimit { label, over_ns: Some(over_ns), percentile: None })
}

/// `99.9`, as `tailtrace.h` reads it: from 50 up to, not including, 100, in ten thousandths.
fn upper_percentile(text: &str) -> Result<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let whole_part: u32 = whole.parse().ok().filter(|_| is_number(whole)).context("no percentile")?;
    ensure!(
        (50..100).contains(&whole_part) && is_number(fraction) && fraction.len() <= 4,
        "p{text} is no percentile from p50 to p99.9999"
    );
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[&str]) -> Result<Limits> {
        Limits::read(&given.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn each_label_has_its_limit() {
        let limits = read(&["200us,order", "1ms,cancel, all", "5ms"]).expect("limits");
        let found = ["order", "cancel, all", "other"].map(|label| limits.of(label));
        assert_eq!(found, [200_000, 1_000_000, 5_000_000].map(|over| Some(Limit::OverNs(over))));
        assert_eq!(limits.for_program(), "200000ns,order;1000000ns,cancel, all;5000000ns");
        assert_eq!((limits.least_ns(), limits.labels()), (200_000, Vec::new()));
        let one = read(&["200us,order"]).expect("limits");
        assert_eq!((one.of("other"), one.labels()), (None, vec!["order".to_owned()]));
        let running = read(&["p99.9,order", "1ms", "p50,x"]).expect("limits");
        assert_eq!(running.for_program(), "p99.9,order;1000000ns;p50,x");
        assert_eq!((running.of("order"), running.least_ns()), (Some(Limit::Percentile), 0));
    }

    #[test]
    fn limits_that_no_program_can_have_are_refused() {
        let long = format!("1ms,{}", "x".repeat(128));
        for given in [
            &["soon"][..],
            &["0s"],
            &["1ms,a;b"],
            &["1ms,"],
            &[&long],
            &["1ms,a", "2ms,a"],
            &["1ms", "2ms"],
            &["p100"],
            &["p10"],
            &["p"],
            &["p99."],
            &["p99.99999"],
            &["p+99"],
            &["p99.9%"],
        ] {
            assert!(read(given).is_err(), "{given:?}");
        }
        let many: Vec<String> = (0..17).map(|number| format!("1ms,{number}")).collect();
        assert!(Limits::read(&many).is_err() && Limits::read(&many[1..]).is_ok());
    }
}
