//! Examines intervals: the only place that asks all sources for their claims.
//!
//! [`examination`] and [`absences`] are a true recursion: below a wait is the examination of the thread that ended
//! it. They call each other, and [`during`] bounds the depth and the count. Imports all layers to the left; only
//! `compare` imports this one.

mod absences;
pub(crate) mod during;
pub(crate) mod examination;
pub(crate) mod examined;
mod interrupts;
mod pooled;
pub(crate) mod queued_writers;
mod raised;
mod returned;
mod runners;
pub(crate) mod segments;
mod serving;
mod signals;
pub(crate) mod spin_budget;
mod spins;
pub(crate) mod stories;
mod tasks;

use model::{Diagnostic, Interval};

use crate::inputs::capture::Capture;
use crate::inputs::decode::Decode;
use crate::samples::front_end::FrontEndRecords;
use crate::samples::memory::memory_accesses;
use during::During;
use examination::examine_scene;
use examined::Examined;

/// Examines `interval`, and for its longest waits what the wakers were doing.
pub fn examine(capture: &Capture<'_>, interval: &Interval, decoder: &mut dyn Decode) -> Examined {
    examine_within(capture, interval, decoder, During::of_outlier())
}

/// Examines `interval` as a baseline: like [`examine()`], with the wakers of its longest waits alone.
pub fn examine_baseline(capture: &Capture<'_>, interval: &Interval, decoder: &mut dyn Decode) -> Examined {
    examine_within(capture, interval, decoder, During::of_baseline())
}

fn examine_within(
    capture: &Capture<'_>,
    interval: &Interval,
    decoder: &mut dyn Decode,
    mut during: During,
) -> Examined {
    let (perf, conversion) = (capture.perf, capture.conversion);
    let examined = capture.with_scene(|scene| examine_scene(scene, interval, decoder, &mut during));
    let stays = &examined.stays;
    let front_end = FrontEndRecords::of(perf, interval.range, stays, &examined.runs, conversion);
    let accesses = conversion.map(|conversion| memory_accesses(perf, stays.iter(), conversion));
    let accesses = accesses.unwrap_or_default();
    let cut_memory = accesses.remark().map(Diagnostic::note);
    Examined { front_end, memory: accesses.kept, cut_memory, ..examined }
}

#[cfg(test)]
mod tests;
