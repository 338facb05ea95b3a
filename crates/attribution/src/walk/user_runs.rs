//! User code as runs: stretches in one node of the call tree, in order of time.
//!
//! Input: blocks of user code, and when time advances. Output: [`Run`]s and the [`UserCode`] they ran.

use std::sync::Arc;

use model::{Ticks, Tsc, TscRange};
use pt::{Block, BlockEnd};

use super::activity::Run;
use super::block_uses::BlockUses;
use super::clock::Moment;
use super::later_callers::LaterCallers;
use super::switches::SYSCALL_LENGTH;
use super::tail_calls::TailCalls;
use super::user_calls::UserCalls;
use super::user_code::{ByAddress, NodeKey, UserCode, whole_name};
use crate::inputs::functions::Function;
use crate::tables::goroutines::ends_goroutine;

/// A code line from memory takes 50 to 100 ns; at 4 GHz that is at most this number of ticks.
const COSTLIEST_LINE: Ticks = Ticks(400);

/// The frame between a signal's handler and the code that it interrupted, as debuggers call it.
pub(crate) const SIGNAL: &str = "<signal handler called>";

/// Where a program begins that an `exec` has loaded.
const ENTRY: &str = "_start";

/// See the module.
#[derive(Default)]
pub(super) struct UserRuns {
    calls: UserCalls,
    /// The node of each open call, outermost first.
    callers: Vec<NodeKey>,
    tails: TailCalls,
    /// By first address: the function that one is a part of, if it is.
    parts: ByAddress<u64, Option<Arc<str>>>,
    /// Where user code goes on that the kernel was entered from, if it was.
    resumes_at: Option<u64>,
    /// Where user code goes on that a signal's handler interrupted, and how many calls were open, innermost last.
    interrupted: Vec<(u64, usize)>,
    /// Caller, function and node of the last block.
    last: Option<(NodeKey, u64, NodeKey)>,
    /// How it ended, and its last instruction.
    last_end: Option<BlockEnd>,
    last_ip: Option<u64>,
    /// It went on in another function by a jump, which is the one of this block.
    gone_on: bool,
    /// A stub ran that leads to the function of the next block.
    stub: Option<(Block, Moment)>,
    open: Option<Run>,
    /// How many code lines ran for the first time since the last time packet.
    cold_lines: u64,
    /// Who called the code in which the thread left its CPU.
    pub(super) later: LaterCallers,
    /// The runs that ended.
    pub(super) done: Vec<Run>,
    uses: BlockUses,
    /// What they ran.
    code: UserCode,
    /// Code before this time is not counted: the thread was busy with something else.
    pub(super) counts_from: Tsc,
}

impl UserRuns {
    /// `block` of `function` runs at `moment`.
    pub(super) fn block(&mut self, block: &Block, function: Option<&Function>, moment: Moment) {
        self.follow_signal(block.ip, function);
        self.leave_signal(block.ip);
        self.land(block.ip, function);
        let was_outermost = self.callers.is_empty();
        let before = self.callers.len();
        if self.calls.block(block, function) {
            self.tails.forget();
            self.last_end = None;
            self.later.forget();
            self.interrupted.clear();
        }
        if function.is_some_and(|function| is_stub(&function.name)) {
            self.stub = Some((*block, moment));
            return;
        }
        let stub = self.stub.take();
        // A call that this block makes is already open and is not one of its callers.
        let depth = self.calls.depth();
        let level = if block.end == BlockEnd::Call { depth.saturating_sub(1) } else { depth };
        self.callers.truncate(level);
        let start = function.map_or(0, |function| function.start);
        let returned = self.last_end == Some(BlockEnd::Return) && was_outermost;
        self.follow_jump((before, level), block, function, returned);
        let jumped_from = self.tails.caller(level);
        let parent = jumped_from.or_else(|| self.callers.last().copied()).unwrap_or_default();
        let node = match self.last {
            Some((of, at, node)) if (of, at) == (parent, start) => node,
            _ => self.code.node_by(parent, function, jumped_from.is_some()),
        };
        let ended = function.is_some_and(|function| ends_goroutine(&function.name));
        let is_within = block.ip != start;
        match self.last {
            Some((_, _, last)) if returned && is_within && !ended => {
                self.code.returned(last, node);
                self.later.return_to(block.ip);
            }
            Some(_) => {}
            None if is_within => self.later.return_to(block.ip),
            // A signal's handler.
            None => self.later.forget(),
        }
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
        self.last_ip = Some(block.end_ip);
        let calls_kernel = block.end == BlockEnd::FarCall;
        self.resumes_at = calls_kernel.then(|| block.end_ip.wrapping_add(SYSCALL_LENGTH));
    }

    /// An exception may be caught in a part that the compiler split off its function, which made one of the open calls.
    fn land(&mut self, ip: u64, function: Option<&Function>) {
        let (Some(function), Some((_, start, last))) = (function, self.last) else { return };
        let may_be = matches!(self.last_end, Some(BlockEnd::Jump | BlockEnd::Return));
        if !may_be || start == function.start {
            return;
        }
        let whole = self.parts.entry(function.start).or_insert_with(|| {
            Some(whole_name(&function.name)).filter(|whole| whole.len() < function.name.len()).map(Arc::from)
        });
        let Some(whole) = whole else { return };
        let is = |node: &NodeKey| self.code.nodes.get(node).is_some_and(|node| node.function == *whole);
        if is(&last) || (self.last_end == Some(BlockEnd::Return) && self.calls.expects(ip)) {
            return;
        }
        if let Some(frame) = self.callers.iter().rposition(is) {
            self.calls.cut_to(frame);
        }
    }

    /// The kernel resumes user code somewhere else than where it was left: at the first instruction of a function this is a signal's
    /// handler, after which the code goes on where it was interrupted.
    pub(super) fn follow_signal(&mut self, ip: u64, function: Option<&Function>) {
        let Some(left_at) = self.resumes_at.take().filter(|&left_at| left_at != ip) else { return };
        if self.resume(ip).is_some() {
            return;
        }
        let is_handler = function.is_some_and(|function| function.start == ip && &*function.name != ENTRY);
        let Some((_, start, node)) = self.last.filter(|_| is_handler) else { return };
        let frame = Function { start: 0, range: 0..0, name: SIGNAL.into(), library: false, collector: None };
        let frame = self.code.node(node, Some(&frame));
        self.tails.interrupt(self.callers.len(), (start, node), frame);
        self.interrupted.push((left_at, self.calls.depth()));
        self.later.forget();
        // It was no jump of the interrupted function's that led here.
        self.last_end = Some(BlockEnd::FarReturn);
    }

    /// What a handler has made the kernel go to, as Go's to preempt a goroutine, returns by itself to what was interrupted.
    fn leave_signal(&mut self, ip: u64) {
        let returned = self.last_end == Some(BlockEnd::Return) && !self.interrupted.is_empty();
        if returned
            && !self.calls.expects(ip)
            && let Some(depth) = self.resume(ip)
        {
            self.calls.cut_to(depth);
        }
    }

    /// What a signal interrupted goes on at `ip`, if it does: handlers are done. How many calls were open then.
    fn resume(&mut self, ip: u64) -> Option<usize> {
        let at = self.interrupted.iter().rposition(|&(left_at, _)| left_at == ip)?;
        let depth = self.interrupted[at].1;
        for _ in self.interrupted.drain(at..) {
            self.tails.resume();
        }
        Some(depth)
    }

    /// A jump from another function to the first instruction of this one is a call that does not come back there. `depths`: calls
    /// open before the block, and now.
    fn follow_jump(
        &mut self,
        depths: (usize, usize),
        block: &Block,
        function: Option<&Function>,
        returned: bool,
    ) {
        let (before, level) = depths;
        if returned {
            self.tails.forget();
        }
        self.gone_on = false;
        let Some(function) = function else { return };
        let again = self.tails.reach(level, function.start);
        let within = self.last_ip.is_some_and(|ip| function.range.contains(&ip));
        let jumped =
            !again && !within && matches!(self.last_end, Some(BlockEnd::Jump | BlockEnd::ConditionalBranch));
        if let Some((_, start, node)) = self.last
            && jumped
            && (before, block.ip) == (level, function.start)
            && start != function.start
            && let Some(last) = self.code.nodes.get(&node)
        {
            self.gone_on = whole_name(&function.name).len() == function.name.len();
            self.tails.jump(level, start, node, &last.function);
        }
    }

    /// `block` of `function` runs in the open run.
    fn count(&mut self, node: NodeKey, block: &Block, function: Option<&Function>) {
        self.count_code(node, block);
        // A loop may return to the function's first instruction: only a transfer from elsewhere is a call. Functions of one name, as
        // those for other types, are one node.
        let from_elsewhere = self.gone_on
            || self.last.is_none_or(|last| last.2 != node)
            || self.last_end == Some(BlockEnd::Call);
        let is_call = from_elsewhere && function.is_some_and(|function| function.start == block.ip);
        if let Some(run) = &mut self.open {
            run.calls += u64::from(is_call);
        }
    }

    /// The code of `block` runs in the open run.
    fn count_code(&mut self, node: NodeKey, block: &Block) {
        self.cold_lines += self.uses.run(node, block, &mut self.code);
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

    /// What ran, after the last run.
    pub(super) fn take_code(&mut self) -> UserCode {
        self.uses.settle(&mut self.code);
        std::mem::take(&mut self.code)
    }

    /// Execution continued untraced.
    pub(super) fn forget(&mut self) {
        self.calls.forget();
        self.later.forget();
        self.last = None;
        self.last_end = None;
        self.last_ip = None;
        self.stub = None;
        self.callers.clear();
        self.tails.forget();
        self.resumes_at = None;
        self.interrupted.clear();
    }

    /// User code may have run since, too: where it goes on says nothing about a signal.
    pub(super) fn run_unseen(&mut self) {
        self.resumes_at = None;
    }

    /// Whether the kernel resumed user code somewhere else than where it was left, and nothing ran there yet before `ip` was hit.
    pub(super) fn resumed_elsewhere(&self, ip: u64) -> bool {
        self.resumes_at.is_some_and(|left_at| left_at != ip)
    }

    /// An interrupt or exception hits the instruction at `ip`.
    pub(super) fn hit(&mut self, ip: u64) {
        self.calls.hit(ip);
        self.resumes_at = Some(ip);
    }

    /// The innermost open call.
    pub(super) fn call_site(&self) -> Option<u64> {
        self.calls.call_site()
    }

    /// The open calls, outermost first, then the last instruction that ran; of a function that went on in another one by a jump its
    /// first instruction.
    pub(super) fn sites(&self) -> impl Iterator<Item = u64> {
        let first = self.calls.left_out();
        self.calls
            .sites()
            .enumerate()
            .flat_map(move |(index, ip)| self.tails.at(first + index).chain(std::iter::once(ip)))
    }
}

/// Whether a function is a stub of the procedure linkage table: it only jumps to what it is called for, and so does one that
/// leads to the variant of a function for this processor (`*ABS*+0x9f0a0@plt`).
fn is_stub(function: &str) -> bool {
    function.ends_with("@plt")
}
