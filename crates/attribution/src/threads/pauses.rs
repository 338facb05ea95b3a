//! When the traces of the interval's threads were paused, in the trace's time.

use model::{Cpu, ThreadId, TscRange};
use perfdata::{TraceOf, Turn};

use crate::inputs::scene::Scene;

/// A pause, in the trace's time.
pub(crate) struct Paused<'a> {
    /// When.
    pub(crate) range: TscRange,
    /// What paused it; `None`: the trace began so.
    pub(crate) by: Option<&'a Turn>,
}

/// When the trace of `cpu`, or of `thread` where single threads are traced, was paused within `range`, in order of time.
pub(crate) fn paused_within<'a>(
    scene: &Scene<'a>,
    range: TscRange,
    cpu: Option<Cpu>,
    thread: Option<ThreadId>,
) -> Vec<Paused<'a>> {
    let trace = if scene.threads_traced {
        thread.map(|thread| TraceOf::Thread(thread.tid))
    } else {
        cpu.map(TraceOf::Cpu)
    };
    let (Some(clock), Some(trace)) = (scene.conversion, trace) else { return Vec::new() };
    let times = clock.to_perf_time(range.start)..clock.to_perf_time(range.stop);
    let in_trace = |pause: perfdata::Pause<'a>| {
        let start = clock.to_tsc(pause.range.start).max(range.start);
        // To the end of `range`, and not to the time of its clock that is nearest.
        let stop = if pause.range.end < times.end { clock.to_tsc(pause.range.end) } else { range.stop };
        Paused { range: TscRange::new(start, stop.min(range.stop)), by: pause.by }
    };
    let pauses = scene.pauses.within(trace, times.clone()).into_iter().map(in_trace);
    pauses.filter(|paused| !paused.range.is_empty()).collect()
}
