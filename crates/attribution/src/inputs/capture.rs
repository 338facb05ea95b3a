//! What the caller provides to examine intervals of a capture.

use model::{Ticks, TimeConversion};
use perfdata::{PerfData, Schedule};

use crate::inputs::comms::Comms;
use crate::inputs::files::{NoFiles, RecordedFiles};
use crate::inputs::functions::Functions;
use crate::inputs::queues::Queues;
use crate::inputs::scene::Scene;
use crate::records::recent::RecentRecords;
use crate::records::sampled::sampled_within;
use crate::records::sideband::Sideband;
use crate::tables::cpu_models::CodeCaches;

/// What examining needs of a capture.
pub struct Capture<'a> {
    /// The records.
    pub perf: &'a PerfData,
    /// What was read of them lately.
    pub recent: &'a RecentRecords,
    /// Which thread ran where.
    pub schedule: &'a Schedule,
    /// The conversion to perf time; without it no record can be placed on the trace's time.
    pub conversion: Option<TimeConversion>,
    /// Function names.
    pub functions: &'a dyn Functions,
    /// Thread names.
    pub comms: &'a dyn Comms,
    /// When each thread ended which interval.
    pub queues: &'a Queues,
    /// Whether the kernel's code was traced, by the PT event's configuration.
    pub kernel_traced: bool,
    /// Whether single threads were traced, each by itself, instead of CPUs.
    pub threads_traced: bool,
    /// Whether switches of all CPUs were recorded, or of the threads wherever they ran.
    pub sees_all_cpus: bool,
    /// The time between two adjacent packets from which on it counts as a stall.
    pub stall_threshold: Ticks,
}

impl Capture<'_> {
    /// Runs `work` on the capture; a function reads its records.
    pub(crate) fn with_scene<T>(&self, work: impl FnOnce(&Scene<'_>) -> T) -> T {
        let records = |range| match self.conversion {
            Some(conversion) => self.recent.within(self.perf, range, conversion),
            None => Sideband::default(),
        };
        let samples = |range| match self.conversion {
            Some(conversion) => sampled_within(self.perf, range, conversion),
            None => Vec::new(),
        };
        let recorded = self.conversion.map(|conversion| RecordedFiles { perf: self.perf, conversion });
        work(&Scene {
            records: &records,
            samples: self.perf.intel_pt().is_none().then_some(&samples),
            schedule: self.schedule,
            frequencies: self.perf.asked_frequencies(),
            pauses: self.perf.pauses(),
            conversion: self.conversion,
            functions: self.functions,
            comms: self.comms,
            files: recorded.as_ref().map_or(&NoFiles, |files| files),
            queues: self.queues,
            kernel_traced: self.kernel_traced,
            threads_traced: self.threads_traced,
            switches_recorded: self.perf.asks_for_switches() || self.schedule.tells_switches(),
            sees_all_cpus: self.sees_all_cpus,
            stall_threshold: self.stall_threshold,
            caches: self.perf.features().cpu_id.as_deref().and_then(CodeCaches::of),
        })
    }
}
