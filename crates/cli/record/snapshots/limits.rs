//! From when on an interval is slow, by its label.
//!
//! Input: `200us,LABEL`, or `200us` for all labels without a limit of their own. Output: the same for the program (`tailtrace.h` reads
//! it), for the choice of intervals, and for the account.

use anyhow::{Result, ensure};
use report::SlowLimit;

use crate::args::text;

/// `tailtrace.h` has room for so many, and for labels of fewer bytes than these.
const MOST: usize = 16;
const LABEL_BYTES: usize = 128;

/// The limits, each label's once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits(Vec<SlowLimit>);

impl Limits {
    /// The limits as they are given.
    ///
    /// # Errors
    /// Where one is no time, or cannot be given to the program.
    pub(crate) fn read(given: &[String]) -> Result<Limits> {
        let mut limits: Vec<SlowLimit> = Vec::new();
        for text in given {
            let (over, label) = match text.split_once(',') {
                Some((over, label)) => (over, Some(label.to_owned())),
                None => (text.as_str(), None),
            };
            let over_ns = text::duration_ns(over)?;
            ensure!(over_ns > 0, "{text}: a limit is longer than nothing");
            ensure!(
                !limits.iter().any(|known| known.label == label),
                "{text}: there is a limit for this already"
            );
            let name = label.as_deref().unwrap_or("all");
            ensure!(
                !name.is_empty() && name.len() < LABEL_BYTES && !name.contains(';'),
                "{text}: a label has up to {} bytes, and no semicolon",
                LABEL_BYTES - 1
            );
            limits.push(SlowLimit { label, over_ns });
        }
        ensure!(limits.len() <= MOST, "there may be {MOST} limits");
        Ok(Limits(limits))
    }

    /// As `tailtrace.h` reads them.
    pub(super) fn for_program(&self) -> String {
        let of = |limit: &SlowLimit| match &limit.label {
            Some(label) => format!("{}ns,{label}", limit.over_ns),
            None => format!("{}ns", limit.over_ns),
        };
        self.0.iter().map(of).collect::<Vec<_>>().join(";")
    }

    /// The limit for intervals of this label, in nanoseconds; `None` where there is none.
    pub(super) fn of(&self, label: &str) -> Option<u64> {
        let own = self.0.iter().find(|limit| limit.label.as_deref() == Some(label));
        own.or_else(|| self.0.iter().find(|limit| limit.label.is_none())).map(|limit| limit.over_ns)
    }

    /// The least one, in nanoseconds.
    pub(super) fn least_ns(&self) -> u64 {
        self.0.iter().map(|limit| limit.over_ns).min().unwrap_or(u64::MAX)
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
        assert_eq!(found, [Some(200_000), Some(1_000_000), Some(5_000_000)]);
        assert_eq!(limits.for_program(), "200000ns,order;1000000ns,cancel, all;5000000ns");
        assert_eq!((limits.least_ns(), limits.labels()), (200_000, Vec::new()));
        let one = read(&["200us,order"]).expect("limits");
        assert_eq!((one.of("other"), one.labels()), (None, vec!["order".to_owned()]));
    }

    #[test]
    fn limits_that_no_program_can_have_are_refused() {
        let long = format!("1ms,{}", "x".repeat(128));
        for given in
            [&["soon"][..], &["0s"], &["1ms,a;b"], &["1ms,"], &[&long], &["1ms,a", "2ms,a"], &["1ms", "2ms"]]
        {
            assert!(read(given).is_err(), "{given:?}");
        }
        let many: Vec<String> = (0..17).map(|number| format!("1ms,{number}")).collect();
        assert!(Limits::read(&many).is_err() && Limits::read(&many[1..]).is_ok());
    }
}
