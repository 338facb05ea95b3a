//! Where a block stands, and what it cost.

/// A block's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Span {
    /// Address of its first instruction.
    pub(super) first: u64,
    /// Address of its last instruction.
    pub(super) last: u64,
    /// How many instructions it has.
    pub(super) instructions: u32,
}

impl Span {
    /// The same block by its offsets from `start`.
    pub(super) fn from(self, start: u64) -> Span {
        Span { first: self.first.wrapping_sub(start), last: self.last.wrapping_sub(start), ..self }
    }
}

/// What a block cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) ticks: u64,
    /// Σ ticks x core:bus ratio.
    pub(super) ratio_ticks: u128,
    /// The ticks for which no ratio was known.
    pub(super) ticks_without_ratio: u64,
    pub(super) executions: u64,
}

impl Cost {
    pub(super) fn add(&mut self, other: &Cost) {
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.ratio_ticks = self.ratio_ticks.saturating_add(other.ratio_ticks);
        self.ticks_without_ratio = self.ticks_without_ratio.saturating_add(other.ticks_without_ratio);
        self.executions = self.executions.saturating_add(other.executions);
    }

    /// What falls on the instructions from number `from` to `to` of `whole`; they are executed as often as all.
    pub(super) fn part(&self, from: usize, to: usize, whole: usize) -> Cost {
        let (from, to, whole) = (from as u128, to as u128, (whole as u128).max(1));
        let of = |value: u64| {
            let until = |position: u128| u128::from(value) * position / whole;
            u64::try_from(until(to) - until(from)).unwrap_or(value)
        };
        Cost {
            ticks: of(self.ticks),
            ratio_ticks: self.ratio_ticks / whole * (to - from),
            ticks_without_ratio: of(self.ticks_without_ratio),
            executions: self.executions,
        }
    }

    /// Core cycles: the TSC counts at the core:bus ratio `nominal`. `None` where any of the time has no ratio.
    pub(super) fn cycles(&self, nominal: u32) -> Option<u64> {
        let cycles = self.ratio_ticks.checked_div(u128::from(nominal))?;
        u64::try_from(cycles).ok().filter(|_| self.ticks_without_ratio == 0)
    }
}
