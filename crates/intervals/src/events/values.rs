//! What the fields of a condition held where it never matched: most often a number is mistyped, or another one was meant.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use perfdata::{PerfData, Record, TracepointFormat};

use super::{EventPattern, fields};

/// Different values that are kept of a field; a capture decides how many there are.
const MOST_KEPT: usize = 256;
/// Values that are listed, the most frequent first.
const LISTED: usize = 8;

/// The values of some fields, each with how often it occurred.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, OfField>);

#[derive(Debug, Default)]
struct OfField {
    counts: BTreeMap<Box<str>, u64>,
    /// Whether values were left out, so that the number of different ones is not known.
    is_cut: bool,
}

impl Values {
    /// What the fields of `event`'s conditions hold in all samples of that event.
    pub(super) fn of(capture: &PerfData, event: &EventPattern) -> Values {
        let mut values = Values::default();
        for record in capture.records() {
            let Record::Sample(sample) = &record.record else { continue };
            if sample.event_name() == Some(event.name.as_str())
                && let Some(payload) = sample.format().zip(sample.raw())
            {
                values.add(event.fields(), payload);
            }
        }
        values
    }

    /// Counts what `fields` hold in this payload.
    fn add<'a>(&mut self, fields: impl Iterator<Item = &'a str>, (format, raw): (&TracepointFormat, &[u8])) {
        for name in fields {
            let Some(value) = format.field(name).and_then(|field| field.value(raw)) else { continue };
            let of = self.0.entry(name.to_owned()).or_default();
            let value = fields::text(value);
            if of.counts.len() < MOST_KEPT || of.counts.contains_key(&value) {
                *of.counts.entry(value).or_default() += 1;
            } else {
                of.is_cut = true;
            }
        }
    }

    /// `: its id was 202 (512 times), 1 (3 times) or one of 4 other values`; empty where nothing was counted.
    pub(super) fn words(&self) -> String {
        let fields: Vec<String> =
            self.0.iter().map(|(name, of)| format!("its {name} was {}", of.words())).collect();
        if fields.is_empty() { String::new() } else { format!(": {}", fields.join("; ")) }
    }
}

impl OfField {
    fn words(&self) -> String {
        let mut order: Vec<(&Box<str>, u64)> =
            self.counts.iter().map(|(value, &count)| (value, count)).collect();
        order.sort_by_key(|&(_, count)| Reverse(count));
        let mut shown: Vec<String> =
            order.iter().take(LISTED).map(|(value, count)| listed(value, *count)).collect();
        match order.len().saturating_sub(LISTED) {
            rest if self.is_cut => shown.push(format!("one of at least {} other values", rest + 1)),
            0 => {}
            1 => shown.push("one other value".to_owned()),
            rest => shown.push(format!("one of {rest} other values")),
        }
        match shown.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => shown.concat(),
        }
    }
}

fn listed(value: &str, count: u64) -> String {
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    format!("{value} ({times})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[(&str, u64)], is_cut: bool) -> String {
        OfField { counts: counts.iter().map(|&(value, count)| (value.into(), count)).collect(), is_cut }
            .words()
    }

    #[test]
    fn the_most_frequent_values_come_first() {
        assert_eq!(of(&[("1", 3), ("202", 512)], false), "202 (512 times) or 1 (3 times)");
        assert_eq!(of(&[("7", 1)], false), "7 (once)");
    }

    #[test]
    fn many_values_are_counted() {
        let names: Vec<String> = (10..20).map(|number| number.to_string()).collect();
        let counts: Vec<(&str, u64)> =
            names.iter().zip((0..10).rev()).map(|(name, rank)| (&**name, 2 + rank)).collect();
        let words = of(&counts, false);
        assert!(words.starts_with("10 (11 times), 11 (10 times), "), "{words}");
        assert!(words.ends_with(", 17 (4 times) or one of 2 other values"), "{words}");
        assert!(of(&counts[..9], false).ends_with(" or one other value"));
        assert!(of(&counts, true).ends_with(" or one of at least 3 other values"));
    }
}
