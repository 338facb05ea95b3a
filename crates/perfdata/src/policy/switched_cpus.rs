//! The CPUs whose switches were recorded, where those of others were not: `perf record -C 2,3`.
//!
//! perf writes at the start which id of an event stands for which CPU and thread (`ID_INDEX`). An event of a CPU has no thread; those of threads follow
//! these from CPU to CPU. What only tracks mappings and names may cover all CPUs in any case. Source: `tools/lib/perf/include/perf/event.h`,
//! `struct id_index_entry`; `evlist__findnew_tracking_event` of `tools/perf/util/evlist.c`.

use std::collections::{BTreeMap, BTreeSet};

use model::Cpu;

use crate::attr::Attr;
use crate::ordered_records::OrderedRecords;
use crate::record::{IdPlace, Record};
use crate::stretches::LastFound;

/// The tracepoint that shows switches.
const SWITCH: &str = "sched:sched_switch";

/// The CPUs whose switches were recorded; `None` where they are of threads, on whatever CPU, or the file does not say.
pub(crate) fn switched_cpus(records: &OrderedRecords) -> Option<BTreeSet<Cpu>> {
    let mut places: BTreeMap<u64, IdPlace> = BTreeMap::new();
    // What perf writes at the start has no time.
    let mut last = LastFound::default();
    for brief in records.all().briefs().take_while(|brief| brief.time.is_none_or(|time| time.0 == 0)) {
        if let Some(Record::IdIndex { places: of_ids, .. }) =
            brief.record(&mut last).map(|record| record.record)
        {
            places.extend(of_ids.map(|place| (place.id, place)));
        }
    }
    let shows_switches = |attr: &&Attr| attr.context_switch() || attr.name.as_deref() == Some(SWITCH);
    let ids = records.attrs.iter().filter(shows_switches).flat_map(|attr| &attr.ids);
    let cpus: Option<BTreeSet<Cpu>> = ids.map(|id| places.get(id)?.of_cpu()).collect();
    cpus.filter(|cpus| !cpus.is_empty())
}

#[cfg(test)]
mod tests;
