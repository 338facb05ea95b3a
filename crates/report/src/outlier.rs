//! One outlier, resolved: what it cost, why, and what supports each statement.
//!
//! Invariants kept by [`OutlierReport::new`]: `segments` lie in order without a hole and add up to `duration_ns`;
//! the causes' durations do too; their typical values add up to `baseline_mean_ns`, so their excesses add up to
//! the difference.

mod children;
pub(crate) mod perf_script;
mod resolve;
mod server_requests;

use std::borrow::Borrow;
use std::collections::BTreeMap;

use model::{Calls, Certainty, EvidenceKind, Number, Story, TscRange};

use crate::calls::CallTree;
use crate::causes::CauseTotal;
use crate::hot_code::HotRange;
use crate::machine::Machine;
use crate::numa::NumaUse;
use crate::pebs::PebsUse;
use crate::serving::ServingRow;
use crate::timebase::{TimeUnit, Timebase};
use crate::units;

/// One explained interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutlierReport {
    /// Its id within the source.
    pub id: u64,
    /// What kind of interval it is.
    pub label: String,
    /// What paired its marks, where that is more than the id.
    pub key: Option<String>,
    /// TSC at its begin mark.
    pub start_tsc: u64,
    /// TSC at its end mark.
    pub stop_tsc: u64,
    /// Perf time at its begin mark, in nanoseconds, with a TSC conversion.
    pub start_ns: Option<u64>,
    /// From begin to end mark.
    pub duration_ns: u64,
    /// The thread of the begin mark.
    pub start_thread: Option<ThreadName>,
    /// The thread of the end mark.
    pub stop_thread: Option<ThreadName>,
    /// The names of its threads and of those below its waits, by tid, where they are recorded.
    pub threads: BTreeMap<i32, String>,
    /// The ids of the typical intervals it is compared with.
    pub baselines: Vec<u64>,
    /// The rule by which these were chosen, or why there are none; empty where it is unknown.
    pub baseline_rule: String,
    /// Their mean duration, rounded half up; `None` without baselines.
    pub baseline_mean_ns: Option<u64>,
    /// What the capture holds and lacks for this interval.
    pub checks: Vec<Check>,
    /// Numbers the program recorded with it.
    pub counters: Vec<CounterValue>,
    /// Its named parts.
    pub stages: Vec<StageReport>,
    /// Texts that the program recorded with it.
    pub attributes: Vec<AttributeValue>,
    /// Its child spans and its baselines' by label, largest excess first.
    pub children: Vec<ChildSpans>,
    /// Its time and its baselines' by cause, largest excess first.
    pub causes: Vec<CauseTotal>,
    /// Its time in order.
    pub segments: Vec<SegmentReport>,
    /// Its functions, and what the baselines spend in each.
    pub calls: CallTree,
    /// The code in which most of its time went; empty where it was not requested, or there is no control flow.
    pub code: Vec<HotRange>,
    /// What all CPUs of the machine did during this time; empty where it was not requested.
    pub machine: Machine,
    /// On which NUMA nodes it was and what it used; `None` unless the capture has several.
    pub numa: Option<NumaUse>,
    /// Its records of PEBS in the trace; `None` unless the capture has such an event.
    pub pebs: Option<PebsUse>,
    /// The unit of its lengths.
    pub time_unit: TimeUnit,
    /// A shell command that shows this time with stock perf; empty without a TSC conversion.
    pub perf_script: String,
    /// A shell command that explains the requests of the server whose answer was waited for longest; empty where there is none.
    pub server_requests: String,
}

/// A thread, as a reader knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadName {
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// Its name at that time; empty where it is not recorded.
    pub comm: String,
}

/// How a check of the capture came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// Complete.
    Good,
    /// There in part.
    Partial,
    /// Not there.
    Missing,
}

/// One line on what the capture holds for an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked for: `PT`, `loss`, `CYC`, `code bytes`, `kernel trace`, `clock`.
    pub name: String,
    /// How it came out.
    pub state: CheckState,
    /// In words, with figures.
    pub detail: String,
}

impl Check {
    /// The name as people read it: names in JSON are a contract, these are the field's terms.
    pub fn label(&self) -> &str {
        match self.name.as_str() {
            "neighbours" => "co-running",
            "marks" => "markers",
            name => name,
        }
    }
}

/// A number the program recorded with an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterValue {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Number,
}

/// A text that the program recorded with an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeValue {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The direct child spans of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSpans {
    /// Their label.
    pub label: String,
    /// How many there are.
    pub spans: u64,
    /// The time within the outlier in which at least one of them was in progress.
    pub duration_ns: u64,
    /// The same of its typical intervals: the mean, rounded half up; 0 without typical intervals.
    pub typical_ns: u64,
}

impl ChildSpans {
    /// What they took longer than typical; negative where less.
    pub fn excess_ns(&self) -> i64 {
        let signed = |length: u64| i64::try_from(length).unwrap_or(i64::MAX);
        signed(self.duration_ns) - signed(self.typical_ns)
    }
}

/// A named part of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// From the interval's start.
    pub offset_ns: u64,
    /// Until the next stage, or the interval's end.
    pub duration_ns: u64,
}

/// An exclusive piece of the interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// Its length in ticks of the TSC.
    pub ticks: u64,
    /// From the interval's start.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// The CPU, where the thread was on one that is known.
    pub cpu: Option<u32>,
    /// The thread whose time it is.
    pub tid: Option<i32>,
    /// The dotted name of its cause.
    pub cause: String,
    /// How well that is known.
    pub certainty: Certainty,
    /// The particulars; empty where there are none.
    pub detail: String,
    /// The same in parts, for the headline.
    pub story: Story,
    /// How far its edges may be off; zero where they are exact to a unit.
    pub edge_uncertainty_ns: u64,
    /// For a wait: what the thread that ended it did during the wait. Not part of the sum.
    pub during: Vec<SegmentReport>,
    /// The same in parts, beside typical intervals; empty where it is no wait for an answer.
    pub serving: Vec<ServingRow>,
    /// What supports it, strongest first.
    pub evidence: Vec<EvidenceReport>,
}

/// One thing a reader can look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceReport {
    /// What it is.
    pub kind: EvidenceKind,
    /// Byte in the perf.data, as `perf script -D` prints it.
    pub file_offset: Option<u64>,
    /// The CPU it belongs to.
    pub cpu: Option<u32>,
    /// Byte in that CPU's AUX stream.
    pub aux_offset: Option<u64>,
    /// What it says.
    pub text: String,
}

impl SegmentReport {
    /// Nothing was compared: whether its user code ran as expected is not known.
    pub(crate) fn doubt_expected(&mut self) {
        if self.cause == model::Cause::UserExpected.to_string() {
            self.certainty = Certainty::Unknown;
        }
    }
}

impl OutlierReport {
    /// Adds the call tree: the outlier's `calls`, compared with those of its `baselines`. `interval` is the outlier's.
    #[must_use]
    pub fn with_calls(
        mut self,
        calls: &Calls,
        baselines: &[impl Borrow<Calls>],
        interval: TscRange,
        timebase: Timebase,
    ) -> OutlierReport {
        self.calls = CallTree::new(calls, baselines, interval, timebase);
        self
    }

    /// The same interval with nothing to compare it with: what its user code is expected to take is not known then.
    #[must_use]
    pub fn uncompared(self) -> OutlierReport {
        let expected = model::Cause::UserExpected.to_string();
        let (mut causes, mut segments) = (self.causes, self.segments);
        let doubted = causes.iter_mut().filter(|total| total.cause == expected);
        doubted.for_each(|total| total.certainty = Certainty::Unknown);
        segments.iter_mut().for_each(SegmentReport::doubt_expected);
        OutlierReport { causes, segments, ..self }
    }

    /// `engine 412`, `tid 130`, `unknown thread`; not escaped.
    pub fn thread_words(&self, tid: Option<i32>) -> String {
        let Some(tid) = tid else { return "unknown thread".to_owned() };
        let own = [&self.start_thread, &self.stop_thread].into_iter().flatten();
        let own =
            own.filter(|thread| thread.tid == tid && !thread.comm.is_empty()).map(|thread| &thread.comm);
        match own.chain(self.threads.get(&tid)).next() {
            Some(comm) => format!("{comm} {tid}"),
            None => format!("tid {tid}"),
        }
    }

    /// [`OutlierReport::numa`] in words; empty where there is nothing to say.
    pub(crate) fn nodes(&self) -> String {
        self.numa.as_ref().map_or_else(String::new, |used| used.words().join("; "))
    }

    /// A typical length in words; a dash where the baselines lack it, or there are none.
    pub(crate) fn typical(&self, typical_ns: u64) -> String {
        match typical_ns {
            0 => "-".to_owned(),
            _ => units::length(typical_ns, self.time_unit),
        }
    }
}

impl CheckState {
    /// `good`, `partial` or `missing`.
    pub fn name(self) -> &'static str {
        match self {
            CheckState::Good => "good",
            CheckState::Partial => "partial",
            CheckState::Missing => "missing",
        }
    }
}

impl EvidenceReport {
    /// Where to look and what stands there: `record at 0x1a2b0 CPU 3: irq:softirq_entry vec=3`; not escaped.
    pub fn words(&self) -> String {
        let places = [
            Some(self.kind.to_string()),
            self.file_offset.map(|offset| format!("at {offset:#x}")),
            self.cpu.map(|cpu| format!("CPU {cpu}")),
            self.aux_offset.map(|offset| format!("AUX {offset:#x}")),
        ];
        format!("{}: {}", places.into_iter().flatten().collect::<Vec<_>>().join(" "), self.text)
    }
}

impl ThreadName {
    /// `engine (pid 410, tid 412)`; not escaped.
    pub fn words(&self) -> String {
        let name = if self.comm.is_empty() { "?" } else { &self.comm };
        format!("{name} (pid {}, tid {})", self.pid, self.tid)
    }

    /// Whether both are the same thread: `exec` gives it another name.
    pub(crate) fn is(&self, other: &ThreadName) -> bool {
        (self.pid, self.tid) == (other.pid, other.tid)
    }
}
