//! Records of PEBS that the trace holds ("PEBS via PT"), of an interval beside its typical ones.
//!
//! Input: stays, and the packets of the streams in their time. Output: the report's figures; none, at no cost, unless the capture has an
//! event whose output is the trace (`aux-output`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use attribution::{Examined, Functions, Stay};
use perfdata::Attr;
use pt::{PebsRecord, scan_pebs_between};
use report::{PebsFunction, PebsMemory, PebsUse};

use crate::capture::Capture;

/// Functions in a report.
const MOST_FUNCTIONS: usize = 16;

/// The records of a function of one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    records: u64,
    accesses: u64,
    cycles: u64,
    longest: u64,
    address: Option<u64>,
}

/// Those of `own`, an examined interval, beside those of `typical` ones.
pub(crate) fn of_outlier(capture: &Capture<'_>, own: &Examined, typical: &[&Examined]) -> Option<PebsUse> {
    let attrs = || capture.perf().attrs().iter().filter(|attr| attr.aux_output());
    attrs().next()?;
    let mut events: Vec<String> = attrs().filter_map(|attr: &Attr| attr.name.clone()).collect();
    events.sort_unstable();
    events.dedup();
    let sums = sums_of(capture, &own.stays);
    let mut typical_records: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for examined in typical {
        for (function, sum) in sums_of(capture, &examined.stays) {
            *typical_records.entry(function).or_default() += sum.records;
        }
    }
    let typical_of = |function: &str| typical_records.get(function).copied().unwrap_or(0);
    let records = sums.values().map(|sum| sum.records).sum();
    let mut functions: Vec<PebsFunction> =
        sums.iter().map(|(function, sum)| sum.report(function, typical_of(function))).collect();
    functions.sort_by_key(|function| (Reverse(function.records), function.function.clone()));
    let more_functions = functions.len().saturating_sub(MOST_FUNCTIONS) as u64;
    functions.truncate(MOST_FUNCTIONS);
    Some(PebsUse {
        events,
        records,
        typical_records: typical_records.values().sum(),
        typical_intervals: typical.len() as u64,
        functions,
        more_functions,
    })
}

/// The records in the time of `stays`, by function.
fn sums_of(capture: &Capture<'_>, stays: &[Stay]) -> BTreeMap<Arc<str>, Sum> {
    let mut sums: BTreeMap<Arc<str>, Sum> = BTreeMap::new();
    let config = capture.pt_config();
    for stay in stays {
        let Some((cpu, thread)) = stay.traced_by() else { continue };
        let Some(stream) = capture.stream(cpu, thread) else { continue };
        let Some(span) = stream.span_of(stay.range) else { continue };
        let found = scan_pebs_between(stream, &config, span.positions.start, span.positions.end);
        for record in found.filter(|record| stay.range.contains(record.time)) {
            let named = record.ip.and_then(|ip| capture.function_at(thread.pid, ip, record.time));
            let function = named.map_or_else(|| Arc::from(""), |function| function.name);
            sums.entry(function).or_default().add(&record);
        }
    }
    sums
}

impl Sum {
    fn add(&mut self, record: &PebsRecord) {
        self.records += 1;
        let Some(latency) = record.latency else { return };
        self.accesses += 1;
        self.cycles = self.cycles.saturating_add(latency);
        if self.accesses == 1 || latency > self.longest {
            (self.longest, self.address) = (latency, record.address);
        }
    }

    fn report(&self, function: &str, typical_records: u64) -> PebsFunction {
        let memory = (self.accesses > 0).then(|| PebsMemory {
            accesses: self.accesses,
            mean_cycles: self.cycles / self.accesses,
            most_cycles: self.longest,
            address: self.address,
        });
        PebsFunction { function: function.to_owned(), records: self.records, typical_records, memory }
    }
}
