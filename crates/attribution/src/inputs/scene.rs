//! What all layers above need of a capture: [`Scene`]. Tests write one by hand.

use model::{Certainty, Ticks, TimeConversion, TscRange};
use perfdata::{AskedFrequencies, Pauses, Schedule};

use crate::inputs::comms::Comms;
use crate::inputs::files::Files;
use crate::inputs::functions::Functions;
use crate::inputs::queues::Queues;
use crate::records::sampled::SampledAddress;
use crate::records::sideband::Sideband;
use crate::tables::cpu_models::CodeCaches;

/// Two switches, out and back in, with kernel entry and exit around them, take longer than this on any machine.
const SHORTEST_ABSENCE_NS: u64 = 1_000;

/// Yields the samples within a range.
pub(crate) type Sampled<'a> = dyn Fn(TscRange) -> Vec<SampledAddress> + 'a;

/// A capture whose records a function reads, so that tests can write them by hand.
#[allow(clippy::struct_excessive_bools, reason = "four facts of a recording, each of its own")]
pub(crate) struct Scene<'a> {
    pub(crate) records: &'a dyn Fn(TscRange) -> Sideband,
    /// Where CPUs were, by samples, in a recording without a trace; `None`: there is a trace, of whatever CPU.
    pub(crate) samples: Option<&'a Sampled<'a>>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) frequencies: &'a AskedFrequencies,
    /// When events had paused the trace.
    pub(crate) pauses: &'a Pauses,
    pub(crate) conversion: Option<TimeConversion>,
    pub(crate) functions: &'a dyn Functions,
    pub(crate) comms: &'a dyn Comms,
    pub(crate) files: &'a dyn Files,
    pub(crate) queues: &'a Queues,
    pub(crate) kernel_traced: bool,
    pub(crate) threads_traced: bool,
    /// Whether switches were to be recorded: then a switch without a record did not take place.
    pub(crate) switches_recorded: bool,
    /// Whether a thread that is on no recorded CPU runs on none.
    pub(crate) sees_all_cpus: bool,
    pub(crate) stall_threshold: Ticks,
    pub(crate) caches: Option<CodeCaches>,
}

impl Scene<'_> {
    /// Whether switches are recorded, at times that can be converted to the trace's time.
    pub(crate) fn tells_switches(&self) -> bool {
        self.conversion.is_some() && self.switches_recorded
    }

    /// The shortest untraced stretch of a trace of user code alone that may hide an unrecorded absence from the CPU;
    /// `None` where the kernel was traced, or absences are recorded.
    pub(crate) fn untold_absence(&self) -> Option<Ticks> {
        let told = self.kernel_traced || self.tells_switches();
        let shortest = || self.conversion.map_or(Ticks(0), |clock| clock.ns_to_ticks(SHORTEST_ABSENCE_NS));
        (!told).then(shortest)
    }

    /// The best certainty with which user code in the trace of a thread's CPU is attributed to that thread.
    pub(crate) fn whose(&self) -> Certainty {
        let is_own = self.threads_traced || self.untold_absence().is_none();
        if is_own { Certainty::Measured } else { Certainty::Inferred }
    }
}
