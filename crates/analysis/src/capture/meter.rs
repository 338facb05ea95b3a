//! Receives the progress of long work: the analysis prints nothing itself.

use std::any::Any;
use std::sync::Arc;

use super::watch::Watch;

/// What takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The whole trace is searched for marks.
    Scanning,
    /// Intervals are decoded and explained.
    Decoding,
    /// The hottest code is timed, block by block.
    TimingCode,
}

/// Shows how far the work is.
pub trait Meter: Sync {
    /// From now on shows how far `phase` is, as `watch` counts it, until what is returned is dropped.
    fn show(&self, phase: Phase, watch: &Arc<Watch>) -> Box<dyn Any>;
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn show(&self, _: Phase, _: &Arc<Watch>) -> Box<dyn Any> {
        Box::new(())
    }
}
