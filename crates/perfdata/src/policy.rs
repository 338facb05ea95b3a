//! What tailtrace makes of a capture beyond what the format says, by rules of its own: which thread ran where, which file and which
//! name something had at a time, what the machine file beside the capture adds, what a smaller capture keeps.
//!
//! The modules beside this folder read; another reader of perf.data would need all of those and none of these. What is
//! worked out here takes [`OrderedRecords`](crate::ordered_records::OrderedRecords); only [`mod@slice`] stands above
//! [`PerfData`](crate::PerfData).

pub(crate) mod asked_frequencies;
pub(crate) mod cgroups;
pub(crate) mod files;
pub(crate) mod machine;
pub(crate) mod numa;
pub(crate) mod pauses;
pub(crate) mod schedule;
pub(crate) mod slice;
pub(crate) mod switched_cpus;
pub(crate) mod thread_names;
