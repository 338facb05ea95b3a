//! Record types: the kernel's numbers, then perf's own from 64 on, with the names that `perf report --stats` prints.
//!
//! Sources: `enum perf_event_type` in `include/uapi/linux/perf_event.h` and `enum perf_user_event_type` in
//! `tools/lib/perf/include/perf/event.h`.

use std::collections::BTreeMap;

/// First number of the records that perf itself writes.
pub(crate) const FIRST_USER_KIND: u32 = 64;

macro_rules! kinds {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        $(pub(crate) const $name: u32 = $number;)*

        /// The name of a record type as `perf report --stats` prints it; `None` for a type that is not known.
        pub fn kind_name(kind: u32) -> Option<&'static str> {
            match kind {
                $($number => Some($text),)*
                _ => None,
            }
        }
    };
}

kinds! {
    MMAP = 1, "MMAP";
    LOST = 2, "LOST";
    COMM = 3, "COMM";
    EXIT = 4, "EXIT";
    THROTTLE = 5, "THROTTLE";
    UNTHROTTLE = 6, "UNTHROTTLE";
    FORK = 7, "FORK";
    READ = 8, "READ";
    SAMPLE = 9, "SAMPLE";
    MMAP2 = 10, "MMAP2";
    AUX = 11, "AUX";
    ITRACE_START = 12, "ITRACE_START";
    LOST_SAMPLES = 13, "LOST_SAMPLES";
    SWITCH = 14, "SWITCH";
    SWITCH_CPU_WIDE = 15, "SWITCH_CPU_WIDE";
    NAMESPACES = 16, "NAMESPACES";
    KSYMBOL = 17, "KSYMBOL";
    BPF_EVENT = 18, "BPF_EVENT";
    CGROUP = 19, "CGROUP";
    TEXT_POKE = 20, "TEXT_POKE";
    AUX_OUTPUT_HW_ID = 21, "AUX_OUTPUT_HW_ID";
    CALLCHAIN_DEFERRED = 22, "CALLCHAIN_DEFERRED";
    HEADER_ATTR = 64, "ATTR";
    HEADER_EVENT_TYPE = 65, "EVENT_TYPE";
    HEADER_TRACING_DATA = 66, "TRACING_DATA";
    HEADER_BUILD_ID = 67, "BUILD_ID";
    FINISHED_ROUND = 68, "FINISHED_ROUND";
    ID_INDEX = 69, "ID_INDEX";
    AUXTRACE_INFO = 70, "AUXTRACE_INFO";
    AUXTRACE = 71, "AUXTRACE";
    AUXTRACE_ERROR = 72, "AUXTRACE_ERROR";
    THREAD_MAP = 73, "THREAD_MAP";
    CPU_MAP = 74, "CPU_MAP";
    STAT_CONFIG = 75, "STAT_CONFIG";
    STAT = 76, "STAT";
    STAT_ROUND = 77, "STAT_ROUND";
    EVENT_UPDATE = 78, "EVENT_UPDATE";
    TIME_CONV = 79, "TIME_CONV";
    HEADER_FEATURE = 80, "FEATURE";
    COMPRESSED = 81, "COMPRESSED";
    FINISHED_INIT = 82, "FINISHED_INIT";
    COMPRESSED2 = 83, "COMPRESSED2";
}

/// Types below this are counted in an array: all that are known, and some.
const COUNTED_IN_ARRAY: usize = 128;

/// How many records of each type there are.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    usual: [u64; COUNTED_IN_ARRAY],
    strange: BTreeMap<u32, u64>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { usual: [0; COUNTED_IN_ARRAY], strange: BTreeMap::new() }
    }
}

impl Counts {
    pub(crate) fn count(&mut self, kind: u32) {
        match self.usual.get_mut(kind as usize) {
            Some(count) => *count += 1,
            None => *self.strange.entry(kind).or_insert(0) += 1,
        }
    }

    /// (type, how many), in the order of the types.
    fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let usual = (0u32..).zip(self.usual.iter().copied()).filter(|&(_, count)| count > 0);
        usual.chain(self.strange.iter().map(|(&kind, &count)| (kind, count)))
    }

    /// Types that are not known: (type, how many).
    pub(crate) fn unknown(&self) -> impl Iterator<Item = (u32, u64)> {
        self.iter().filter(|&(kind, _)| kind_name(kind).is_none())
    }

    /// Names and counts in the order of the types.
    pub(crate) fn named(&self) -> Vec<(String, u64)> {
        let name = |kind| kind_name(kind).map_or_else(|| format!("UNKNOWN_{kind}"), str::to_owned);
        self.iter().map(|(kind, count)| (name(kind), count)).collect()
    }
}
