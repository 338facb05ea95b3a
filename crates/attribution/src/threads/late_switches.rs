//! How late the records of a switch were, where the flow shows it. SWITCH records are written after the scheduler's
//! decision, and that follows the scheduler's first instruction.
//!
//! Input: stays whose records may be late, by the records alone. Output: the same stays with the flow's bound
//! instead.

use model::{Cause, Cpu, Ticks, Tsc};

use crate::inputs::decode::Decode;
use crate::inputs::scene::Scene;
use crate::threads::follow::work_at;
use crate::threads::stays::Stay;
use crate::walk::activity::Frame;

/// For how many switches of one interval the flow of the previous thread is decoded.
const MOST: usize = 64;

/// Bounds the lateness of switches by `frames`, the flow of the stays, and by the flow of the thread that was on the
/// CPU before.
pub(crate) fn bound_by_flow(
    stays: &mut [Stay],
    frames: &[Frame],
    scene: &Scene<'_>,
    decoder: &mut dyn Decode,
) {
    let mut left = MOST;
    for stay in stays.iter_mut().filter(|stay| stay.late > Ticks(0)) {
        let at = stay.range.start;
        let since = match stay.place.cpu() {
            None => scheduler_at(frames, at),
            Some(cpu) if left > 0 => {
                left -= 1;
                by_who_left(cpu, at, scene, decoder)
            }
            Some(_) => None,
        };
        if let Some(since) = since {
            stay.late = at.since(since);
        }
    }
}

/// Since when the scheduler had been running at `at`, by `frames`.
pub(crate) fn scheduler_at(frames: &[Frame], at: Tsc) -> Option<Tsc> {
    let open = frames.iter().filter(|frame| frame.range.start < at && at <= frame.range.stop);
    open.filter(|frame| frame.cause == Cause::Schedule).map(|frame| frame.range.start).max()
}

/// The same, in the flow of the thread that left `cpu` at `at`.
fn by_who_left(cpu: Cpu, at: Tsc, scene: &Scene<'_>, decoder: &mut dyn Decode) -> Option<Tsc> {
    let conversion = scene.conversion?;
    let runs = scene.schedule.on_cpu(cpu);
    let begun = runs.partition_point(|run| conversion.to_tsc(run.start) < at);
    let run = runs.clone().nth(begun.checked_sub(1)?).filter(|run| conversion.to_tsc(run.stop) == at)?;
    scheduler_at(&work_at(scene, cpu, run.thread, at, decoder), at)
}
