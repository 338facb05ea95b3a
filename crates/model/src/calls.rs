//! Which functions ran in an interval, called by which: a tree, and the time spent in each of its nodes.

use std::sync::Arc;

use crate::time::TscRange;

/// Where a function of a call tree belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallLayer {
    /// The program and its libraries.
    #[default]
    User,
    /// The kernel.
    Kernel,
    /// No function but a stretch without execution: off the CPU, lost, unexplained.
    Waiting,
}

/// A function as called by the functions above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNode {
    /// The index of its caller, always smaller than its own; `None` for the outermost one known.
    pub parent: Option<u32>,
    /// Its name.
    pub name: Arc<str>,
    /// Where it belongs.
    pub layer: CallLayer,
    /// The event for whose recording a kernel function works, itself or for a function above it: `raw_syscalls:sys_enter`.
    pub recording: Option<Arc<str>>,
}

/// Time spent in one function itself, not in those it called; or, without length, where it was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallStretch {
    /// When.
    pub range: TscRange,
    /// The index of its node.
    pub node: u32,
    /// How often the function was entered in it: 0 where it only went on.
    pub calls: u64,
}

/// The calls of one interval. Its stretches lie in order, and those with a length do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The tree, callers first.
    pub nodes: Vec<CallNode>,
    /// The time, in order.
    pub stretches: Vec<CallStretch>,
}
