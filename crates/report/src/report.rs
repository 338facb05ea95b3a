//! The report: one plain value, already resolved, from which every format is rendered.
//!
//! Lengths named `_ns` are in the report's [`TimeUnit`]: nanoseconds, or ticks where `capture.time_unit` says so.

use model::Diagnostic;
use serde::{Deserialize, Serialize};

use crate::composition::Composition;
use crate::distribution::{Bin, Modes, Percentiles};
use crate::outlier::OutlierReport;
use crate::snapshots::Snapshots;
use crate::timebase::TimeUnit;
use crate::units;
use crate::view::{CounterView, View};

/// What tailtrace has to say about one capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Where and how the capture was made.
    pub capture: CaptureFacts,
    /// All its intervals, in figures.
    pub population: PopulationSummary,
    /// Which of them are explained, and by what rule.
    pub selection: SelectionSummary,
    /// The explained ones, in the order of the selection.
    pub outliers: Vec<OutlierReport>,
    /// The explained ones together.
    pub view: View,
    /// What the time of all intervals is made of, where that was requested.
    pub composition: Option<Composition>,
    /// What is wrong with the input.
    pub diagnostics: Vec<Diagnostic>,
}

/// The circumstances a ticket's reader asks for first. What the file does not hold is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFacts {
    /// The file as the user named it.
    pub path: Option<String>,
    /// The recorded machine.
    pub hostname: Option<String>,
    /// Its kernel (`uname -r`).
    pub os_release: Option<String>,
    /// The perf that recorded.
    pub perf_version: Option<String>,
    /// The architecture (`uname -m`).
    pub arch: Option<String>,
    /// The processor's marketing name.
    pub cpu_desc: Option<String>,
    /// The processor as perf identifies it: `GenuineIntel,6,143,8`.
    pub cpuid: Option<String>,
    /// The recording's command line.
    pub cmdline: Option<String>,
    /// How many CPUs were online.
    pub cpus: Option<u64>,
    /// The counter's frequency in hertz.
    pub tsc_hz: Option<u64>,
    /// How PT was configured, in perf's terms: `cyc`, `mtc_period=3`, `noretcomp`.
    pub pt_config: Vec<String>,
    /// From the first to the last record.
    pub duration_ns: Option<u64>,
    /// Bytes of PT in the file.
    pub trace_bytes: Option<u64>,
    /// Records that the kernel says it lost.
    pub lost_records: Option<u64>,
    /// AUX buffers that the kernel marked truncated or overwritten.
    pub truncated_aux: Option<u64>,
    /// The unit of every length outside the outliers, which say theirs.
    pub time_unit: TimeUnit,
}

/// The population's figures. Where `count` is zero the others mean nothing and are not shown; likewise those
/// without outliers where all are outliers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PopulationSummary {
    /// How many intervals there are.
    pub count: u64,
    /// How many of them lie in the recording, at least in part: the figures are of all. `None` where its time is not known.
    #[serde(default)]
    pub in_recording: Option<u64>,
    /// The rule by which an interval counts as an outlier here.
    pub rule: String,
    /// How many do.
    pub outliers: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The mean of all.
    pub mean_ns: f64,
    /// The mean of those that are no outliers.
    pub mean_without_outliers_ns: f64,
    /// The longest.
    pub max_ns: u64,
    /// The population standard deviation of all.
    pub stdev_ns: f64,
    /// The same of those that are no outliers.
    pub stdev_without_outliers_ns: f64,
    /// Percentiles by nearest rank.
    pub percentiles: Percentiles,
    /// The durations' distribution: adjacent bins in order.
    pub histogram: Vec<Bin>,
    /// The two kinds of intervals, where there are two.
    pub modes: Option<Modes>,
    /// How the program's counters correlate with slow intervals, the strongest first.
    pub counters: Vec<CounterView>,
    /// Markers that the program made and its interval file does not hold, where there are any.
    #[serde(default)]
    pub lost_markers: Option<LostMarkers>,
    /// What the recording kept of what was slow, where it kept nothing else: the intervals here are those of one slice's time.
    #[serde(default)]
    pub snapshots: Option<Snapshots>,
}

/// How many of a program's markers are missing in its interval file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostMarkers {
    /// Those that are missing.
    pub lost: u64,
    /// All that the program made.
    pub made: u64,
}

impl std::fmt::Display for LostMarkers {
    /// `704,268 of 2,000,000 markers were lost`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} markers were lost", units::grouped(self.lost), units::grouped(self.made))
    }
}

impl PopulationSummary {
    /// What the figures lack, for people: lost markers, and slow intervals that were skipped; empty where nothing is missing.
    pub(crate) fn losses(&self) -> String {
        let sentence = |lost| format!("{lost}: percentiles are of the survivors");
        let lost = self.lost_markers.map(sentence);
        let skips = self.snapshots.as_ref().map(Snapshots::skips).filter(|skips| !skips.is_empty());
        lost.into_iter().chain(skips).collect::<Vec<_>>().join("; ")
    }
}

/// Which intervals were chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectionSummary {
    /// The rule, as the user can repeat it: `--mad 3.5, at most the 10 longest`.
    pub rule: String,
    /// How many it chose.
    pub selected: u64,
}
