//! Events of a core's PMU that a scenario may sample or count.
//!
//! Input: a name. Output: how `perf_event_attr` asks for it.
//! Source: Intel's perfmon files (event 0xc6 and the `FRONTEND` MSR's values, 0xd1), Linux 6.1 `arch/x86/events/intel/core.c`
//! (`slots` and `topdown-*` of Sapphire Rapids); tools/perf/Documentation/topdown.txt: `slots` leads the group, what is sampled
//! is the event after it.

use crate::container::Event;

/// perf's numbers for hardware events, of which cycles are the first, and for the core's own.
const HARDWARE: u32 = 0;
const RAW: u32 = 4;

/// An event, by its name in perf.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CoreEvent {
    pub(crate) name: &'static str,
    kind: u32,
    config: u64,
    /// `config1`: which of the front end's events.
    config1: u64,
}

const fn raw(name: &'static str, config: u64, config1: u64) -> CoreEvent {
    CoreEvent { name, kind: RAW, config, config1 }
}

/// Those sampled by PEBS.
const PRECISE: [CoreEvent; 4] = [
    raw("frontend_retired.l1i_miss:pp", 0x1c6, 0x12),
    raw("frontend_retired.itlb_miss:pp", 0x1c6, 0x14),
    raw("frontend_retired.latency_ge_16:pp", 0x1c6, 0x60_1006),
    raw("mem_load_retired.l3_miss:pp", 0x20d1, 0),
];

/// Number of events that a group may count.
pub(crate) const COUNTED: usize = 7;

/// The place of the sampled event in [`GROUP`], after its leader.
pub(crate) const SAMPLED: usize = 1;

/// Those counted in a group, its leader first.
pub(crate) const GROUP: [CoreEvent; COUNTED] = [
    raw("slots", 0x400, 0),
    CoreEvent { name: "cycles", kind: HARDWARE, config: 0, config1: 0 },
    raw("topdown-retiring", 0x8000, 0),
    raw("topdown-bad-spec", 0x8100, 0),
    raw("topdown-fe-bound", 0x8200, 0),
    raw("topdown-be-bound", 0x8300, 0),
    raw("topdown-fetch-lat", 0x8600, 0),
];

impl CoreEvent {
    /// The precise event of this name; modifiers are left out.
    pub(crate) fn precise(name: &str) -> Option<&'static CoreEvent> {
        PRECISE.iter().find(|event| event.name.split(':').next() == Some(name))
    }

    /// The place in [`GROUP`] of the event of this name.
    pub(crate) fn place_in_group(name: &str) -> Option<usize> {
        GROUP.iter().position(|event| event.name == name)
    }

    /// The event as a file lists it; `like` gives the rest.
    pub(crate) fn event(&self, like: Event) -> Event {
        Event { name: self.name, kind: self.kind, config: self.config, config1: self.config1, ..like }
    }
}
