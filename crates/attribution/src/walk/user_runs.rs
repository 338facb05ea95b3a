//! User code as runs: stretches in one node of the call tree, in order of time.
//!
//! Input: blocks of user code, and when time advances. Output: [`Run`]s and the [`UserCode`] they ran.

use model::{Ticks, Tsc, TscRange};
use pt::{Block, BlockEnd};

use super::activity::Run;
use super::clock::Moment;
use super::user_calls::UserCalls;
use super::user_code::{NodeKey, UserCode};
use crate::inputs::functions::Function;

/// A code line from memory takes 50 to 100 ns; at 4 GHz that is at most this number of ticks.
const COSTLIEST_LINE: Ticks = Ticks(400);

/// See the module.
#[derive(Default)]
pub(super) struct UserRuns {
    calls: UserCalls,
    /// The node of each open call, outermost first.
    callers: Vec<NodeKey>,
    /// Caller, function and node of the last block.
    last: Option<(NodeKey, u64, NodeKey)>,
    /// How it ended.
    last_end: Option<BlockEnd>,
    /// A stub ran that leads to the function of the next block.
    stub: Option<(Block, Moment)>,
    open: Option<Run>,
    /// How many code lines ran for the first time since the last time packet.
    cold_lines: u64,
    /// The runs that ended.
    pub(super) done: Vec<Run>,
    /// What they ran.
    pub(super) code: UserCode,
    /// Code before this time is not counted: the thread was busy with something else.
    pub(super) counts_from: Tsc,
}

impl UserRuns {
    /// `block` of `function` runs at `moment`.
    pub(super) fn block(&mut self, block: &Block, function: Option<&Function>, moment: Moment) {
        self.calls.block(block, function);
        if function.is_some_and(|function| is_stub(&function.name)) {
            self.stub = Some((*block, moment));
            return;
        }
        let stub = self.stub.take();
        // A call that this block makes is already open and is not one of its callers.
        let depth = self.calls.depth();
        self.callers.truncate(if block.end == BlockEnd::Call { depth.saturating_sub(1) } else { depth });
        let parent = self.callers.last().copied().unwrap_or_default();
        let start = function.map_or(0, |function| function.start);
        let node = match self.last {
            Some((of, at, node)) if (of, at) == (parent, start) => node,
            _ => self.code.node(parent, function),
        };
        if depth > self.callers.len() {
            self.callers.push(node);
        }
        self.open_in(node, function, stub.map_or(moment, |(_, moment)| moment));
        if moment.at >= self.counts_from {
            if let Some((stub, _)) = stub {
                self.count_code(node, &stub);
            }
            self.count(node, block, function);
        }
        self.last = Some((parent, start, node));
        self.last_end = Some(block.end);
    }

    /// `block` of `function` runs in the open run.
    fn count(&mut self, node: NodeKey, block: &Block, function: Option<&Function>) {
        self.count_code(node, block);
        // A loop may return to the function's first instruction: only a transfer from elsewhere is a call.
        let from_elsewhere =
            self.last.is_none_or(|last| last.2 != node) || self.last_end == Some(BlockEnd::Call);
        let is_call = from_elsewhere && function.is_some_and(|function| function.start == block.ip);
        if let Some(run) = &mut self.open {
            run.calls += u64::from(is_call);
        }
    }

    /// The code of `block` runs in the open run.
    fn count_code(&mut self, node: NodeKey, block: &Block) {
        self.cold_lines += self.code.run(node, block);
        if let Some(run) = &mut self.open {
            run.instructions += u64::from(block.instructions);
        }
    }

    /// The thread is in `function`, where nothing retires.
    pub(super) fn stand(&mut self, function: Option<&Function>, moment: Moment) {
        let node = self.code.node(self.callers.last().copied().unwrap_or_default(), function);
        self.open_in(node, function, moment);
    }

    /// The open run is one in `node`.
    fn open_in(&mut self, node: NodeKey, function: Option<&Function>, moment: Moment) {
        if self.open.as_ref().is_none_or(|run| run.node != node) {
            self.close(moment.at, moment.uncertainty);
            self.open = Some(Run {
                range: TscRange::new(moment.at, moment.at),
                function: function.map(|function| function.name.clone()),
                node,
                instructions: 0,
                calls: 0,
                cold: Ticks(0),
                ratio: moment.ratio,
                cpu: moment.cpu,
                uncertainty: moment.uncertainty,
                aux_offset: moment.aux_offset,
            });
        }
    }

    /// Time advanced by `step`. Time beyond the fetch of the new lines from memory has another reason.
    pub(super) fn step(&mut self, step: Ticks) {
        let fetched = std::mem::take(&mut self.cold_lines).saturating_mul(COSTLIEST_LINE.0);
        if let Some(run) = &mut self.open {
            run.cold.0 += step.0.min(fetched);
        }
    }

    /// The open run ends at `at`, with `uncertainty`.
    pub(super) fn close(&mut self, at: Tsc, uncertainty: Ticks) {
        if let Some(mut run) = self.open.take() {
            run.range = TscRange::new(run.range.start, at);
            run.uncertainty = run.uncertainty.max(uncertainty);
            run.cold = run.cold.min(run.range.ticks());
            self.done.push(run);
        }
    }

    /// The run that is open began no earlier than `at`.
    pub(super) fn postpone(&mut self, at: Tsc) {
        if let Some(run) = &mut self.open {
            run.range.start = run.range.start.max(at);
        }
    }

    /// The run that ended at `from` continued until `to`.
    pub(super) fn bridge(&mut self, from: Tsc, to: Tsc) {
        if let Some(run) = self.done.last_mut().filter(|run| run.range.stop == from && self.open.is_none()) {
            run.range.stop = to;
        }
    }

    /// Execution continued untraced.
    pub(super) fn forget(&mut self) {
        self.calls.forget();
        self.last = None;
        self.last_end = None;
        self.stub = None;
        self.callers.clear();
    }

    /// An interrupt or exception hits the instruction at `ip`.
    pub(super) fn hit(&mut self, ip: u64) {
        self.calls.hit(ip);
    }

    /// The innermost open call.
    pub(super) fn call_site(&self) -> Option<u64> {
        self.calls.call_site()
    }

    /// The open calls, outermost first, then the last instruction that ran.
    pub(super) fn sites(&self) -> impl Iterator<Item = u64> {
        self.calls.sites()
    }
}

/// Whether a function is a stub of the procedure linkage table: it only jumps to what it is called for, and so does one that
/// leads to the variant of a function for this processor (`*ABS*+0x9f0a0@plt`).
fn is_stub(function: &str) -> bool {
    function.ends_with("@plt")
}
