//! The code in which most of an outlier's time went, block by block, beside what its baselines spend there.
//!
//! Filled by who has the flow and the binaries. Invariants: ranges stand with the longest first; blocks of a range in
//! order of address, without overlap, each with at least one instruction; a range's times are the sums of its blocks'.

/// A stretch of one function's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotRange {
    /// The function; `[unknown]` where no symbol covers it.
    pub function: String,
    /// The file that holds it, as the recording names it.
    pub dso: String,
    /// What the outlier and its baselines spent in it.
    pub spent: Spent,
    /// Its blocks that ran.
    pub blocks: Vec<HotBlock>,
    /// Instructions that ran and are left out here for lack of room.
    pub left_out: u64,
}

/// Instructions that only ever run together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotBlock {
    /// What the outlier and its baselines spent in it.
    pub spent: Spent,
    /// In order of address.
    pub instructions: Vec<HotInstruction>,
}

/// What code cost in the outlier, and typically: the mean over the baselines, rounded half up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time of the outlier. Between two time packets it is shared among the instructions that ran.
    pub duration_ns: u64,
    /// The baselines' time.
    pub typical_ns: u64,
    /// Core cycles of the outlier: its time at the core:bus ratios of those moments. `None` without a CBR packet.
    pub cycles: Option<u64>,
    /// The baselines' core cycles.
    pub typical_cycles: Option<u64>,
    /// How often it ran in the outlier; for a range, its most frequent block.
    pub executions: u64,
    /// How often it runs in a baseline.
    pub typical_executions: u64,
}

/// One instruction of the outlier's code, as it was at that time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotInstruction {
    /// Where it stands (AVMA).
    pub address: u64,
    /// Mnemonic and operands, AT&T syntax.
    pub text: String,
    /// The source line it was compiled from, where a line table gives it.
    pub line: Option<SourceLine>,
}

/// A line of source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the line table names it.
    pub file: String,
    /// The line, from 1.
    pub number: u32,
    /// Its text, where the file is here.
    pub text: Option<String>,
}

impl Spent {
    /// Both together: times add up, executions are those of the more frequent one.
    #[must_use]
    pub fn and(self, other: Spent) -> Spent {
        let both = |one: Option<u64>, two: Option<u64>| Some(one?.saturating_add(two?));
        Spent {
            duration_ns: self.duration_ns.saturating_add(other.duration_ns),
            typical_ns: self.typical_ns.saturating_add(other.typical_ns),
            cycles: both(self.cycles, other.cycles),
            typical_cycles: both(self.typical_cycles, other.typical_cycles),
            executions: self.executions.max(other.executions),
            typical_executions: self.typical_executions.max(other.typical_executions),
        }
    }
}
