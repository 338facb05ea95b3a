//! Kernel code as runs: stretches in one node of the call tree below a frame, in order of time.
//!
//! Input: blocks of kernel code with the frame that is innermost, and when time advances. Output: [`KernelCode`]. A frame's tree begins
//! with the function that it began with: what called that belongs to the frame around it.
//!
//! Between two time packets a flow runs through several functions. The time between the packets is divided among them by the
//! instructions that retired in each, with more for those that go on elsewhere ([`slots`]), but not beyond a frame's boundary: a
//! frame begins and ends with a packet.

use std::sync::Arc;

use model::{Tsc, TscRange};
use pt::{Block, BlockEnd};

use super::user_code::{ByAddress, NodeKey, whole_name};
use crate::inputs::functions::{Function, NO_SYMBOL};
use crate::tables::recording::recorded_by;

/// More functions that went on in others by jumps, one after the other, are damage.
const MOST_JUMPS: usize = 64;

/// What a jump, a call or a return takes besides itself, in instructions: a core predicts one taken branch a cycle at most (Intel 64
/// and IA-32 Architectures Optimization Reference Manual, "Branch Prediction Unit"), in which it could have taken in so many others.
const SLOTS_OF_TRANSFER: u64 = 4;

/// A kernel function as called by those above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelNode {
    /// Its caller; the default key where its frame began with it.
    pub(crate) parent: NodeKey,
    /// Its name.
    pub(crate) function: Arc<str>,
    /// The event for whose recording it works, if it or a function above it does.
    pub(crate) recording: Option<Arc<str>>,
}

/// Kernel code that ran in one node without leaving it; without length, where no packet separates it from what ran before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelRun {
    /// When.
    pub(crate) range: TscRange,
    /// The function together with its callers.
    pub(crate) node: NodeKey,
    /// The occurrence of the frame that it is a part of.
    pub(crate) occurrence: u64,
    /// How often the function was entered.
    pub(crate) calls: u64,
}

/// Which kernel functions ran, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCode {
    /// The trees of all frames.
    pub(crate) nodes: ByAddress<NodeKey, KernelNode>,
    /// In time order.
    pub(crate) runs: Vec<KernelRun>,
}

impl KernelCode {
    /// Adds what the next thread ran; its occurrences follow the `known` ones.
    pub(crate) fn add(&mut self, next: KernelCode, known: u64) {
        self.nodes.extend(next.nodes);
        let runs = next.runs.into_iter();
        self.runs.extend(runs.map(|run| KernelRun { occurrence: run.occurrence + known, ..run }));
    }

    /// The node's chain of callers, outermost last; it ends where a function began a frame.
    pub(crate) fn lineage(&self, node: NodeKey) -> impl Iterator<Item = (NodeKey, &KernelNode)> {
        let mut next = node;
        std::iter::from_fn(move || {
            let at = next;
            let known = self.nodes.get(&at)?;
            next = known.parent;
            Some((at, known))
        })
    }

    fn push(&mut self, run: KernelRun) {
        if let Some(last) = self.runs.last_mut()
            && run.calls == 0
            && (last.node, last.occurrence, last.range.stop) == (run.node, run.occurrence, run.range.start)
        {
            last.range.stop = run.range.stop;
        } else if run.calls > 0 || !run.range.is_empty() {
            self.runs.push(run);
        }
    }
}

/// The innermost frame, and the calls that are open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Innermost {
    /// It has the larger number of two frames if it began later.
    pub(super) serial: u64,
    /// Its occurrence.
    pub(super) occurrence: u64,
    /// How many calls were open when it began.
    pub(super) calls: usize,
    /// How many are open now.
    pub(super) depth: usize,
}

/// Where a block lies.
pub(super) struct Place<'a> {
    /// The function that holds it.
    pub(super) function: Option<&'a Function>,
    /// It is no code of its own but leads on to a function or back.
    pub(super) passes: bool,
}

/// What ran in one node since the last time packet.
struct Step {
    node: NodeKey,
    calls: u64,
    slots: u64,
}

/// The node of a function, how often it was entered, and the node within it of what was inlined where it runs.
struct Entered {
    node: NodeKey,
    calls: u64,
    within: NodeKey,
}

/// A function that went on in another one by a jump.
struct Jump {
    frame: u64,
    depth: usize,
    start: u64,
    node: NodeKey,
}

/// The last block of a function.
struct Last {
    frame: u64,
    depth: usize,
    start: u64,
    parent: NodeKey,
    node: NodeKey,
    end: BlockEnd,
    end_ip: u64,
}

/// See the module.
#[derive(Default)]
pub(super) struct KernelRuns {
    /// Whether anything is followed.
    pub(super) follows: bool,
    /// The runs that ended.
    pub(super) code: KernelCode,
    /// Nodes by caller and the function's first address.
    known: ByAddress<(NodeKey, u64), NodeKey>,
    /// By node and the first address of a block: the node within it of what was inlined there.
    within: ByAddress<(NodeKey, u64), NodeKey>,
    /// The node of each open call, outermost first.
    callers: Vec<NodeKey>,
    jumps: Vec<Jump>,
    last: Option<Last>,
    /// The frame of the open steps.
    frame: Innermost,
    /// What ran since `since`, the last time packet; the time is `until` now.
    steps: Vec<Step>,
    since: Tsc,
    until: Tsc,
    /// When the thread came onto its CPU, as long as no block has followed.
    came: Option<Tsc>,
}

impl KernelRuns {
    /// `block` at `place` runs at `now` in `frame`. All of it counts for what was `inlined` at its first instruction, outermost first.
    pub(super) fn block(
        &mut self,
        block: &Block,
        place: &Place<'_>,
        inlined: impl FnOnce() -> Arc<[Arc<str>]>,
        frame: Innermost,
        now: Tsc,
    ) {
        self.callers.truncate(frame.depth);
        let (serial, depth) = (frame.serial, frame.depth);
        self.jumps.retain(|jump| jump.frame < serial || (jump.frame == serial && jump.depth <= depth));
        if place.passes {
            self.pass(block, frame);
            return;
        }
        let function = place.function;
        let (parent, node, calls) = self.node(block, function, frame);
        let within = self.within(node, block.ip, inlined);
        if block.end == BlockEnd::Call {
            self.callers.resize(frame.depth, NodeKey::default());
            self.callers.push(within);
        }
        self.run(&Entered { node, calls, within }, block, frame, now);
        let start = function.map_or(0, |function| function.start);
        let (end, end_ip) = (block.end, block.end_ip);
        self.last = Some(Last { frame: serial, depth, start, parent, node, end, end_ip });
    }

    /// A thunk's `block` runs: its time is that of the function that it serves.
    fn pass(&mut self, block: &Block, frame: Innermost) {
        if block.end == BlockEnd::Call {
            let jumped = self.last.as_ref().filter(|last| {
                last.end == BlockEnd::Jump && (last.frame, last.depth) == (frame.serial, frame.depth)
            });
            let caller = jumped.map_or_else(|| self.caller(frame), |last| last.node);
            self.callers.resize(frame.depth, NodeKey::default());
            self.callers.push(caller);
        }
        let slots = self.time_reaches(block);
        if let Some(step) = self.steps.last_mut() {
            step.slots += slots;
        }
    }

    /// The node of the innermost open call of `frame`.
    fn caller(&self, frame: Innermost) -> NodeKey {
        let own = frame.depth.checked_sub(1).filter(|_| frame.depth > frame.calls);
        own.and_then(|at| self.callers.get(at)).copied().unwrap_or_default()
    }

    /// The caller and the node of `function` that runs in `block`, and how often it was entered: 0 or 1.
    fn node(
        &mut self,
        block: &Block,
        function: Option<&Function>,
        frame: Innermost,
    ) -> (NodeKey, NodeKey, u64) {
        let (serial, depth) = (frame.serial, frame.depth);
        let start = function.map_or(0, |function| function.start);
        let at_start = function.is_some() && block.ip == start;
        let again = |jump: &Jump| (jump.frame, jump.depth, jump.start) == (serial, depth, start);
        let again = self.jumps.iter().position(again);
        self.jumps.truncate(again.unwrap_or(self.jumps.len()));
        let within = |ip: u64| function.is_some_and(|function| function.range.contains(&ip));
        if let Some(last) = &self.last
            && at_start
            && again.is_none()
            && matches!(last.end, BlockEnd::Jump | BlockEnd::ConditionalBranch)
            && (last.frame, last.depth) == (serial, depth)
            && last.start != start
            && last.start != 0
            && !within(last.end_ip)
            && self.jumps.len() < MOST_JUMPS
        {
            self.jumps.push(Jump { frame: serial, depth, start: last.start, node: last.node });
        }
        let jumped = self.jumps.last().filter(|jump| (jump.frame, jump.depth) == (serial, depth));
        let parent = jumped.map_or_else(|| self.caller(frame), |jump| jump.node);
        let node = match &self.last {
            Some(last) if (last.start, last.parent) == (start, parent) => last.node,
            _ => self.node_below(parent, function),
        };
        let goes_on = |last: &Last| last.node == node && last.frame == serial && last.end != BlockEnd::Call;
        let is_call = at_start && !self.last.as_ref().is_some_and(goes_on);
        (parent, node, u64::from(is_call))
    }

    fn node_below(&mut self, parent: NodeKey, function: Option<&Function>) -> NodeKey {
        let start = function.map_or(0, |function| function.start);
        if let Some(&known) = self.known.get(&(parent, start)) {
            return known;
        }
        let name = function.map_or(NO_SYMBOL, |function| whole_name(&function.name));
        let nodes = &mut self.code.nodes;
        let caller = nodes.get(&parent);
        let node =
            if caller.is_some_and(|caller| &*caller.function == name) { parent } else { parent.below(name) };
        let inherited = caller.and_then(|caller| caller.recording.clone());
        nodes.entry(node).or_insert_with(|| KernelNode {
            parent,
            function: Arc::from(name),
            recording: inherited.or_else(|| recorded_by(name).map(Arc::from)),
        });
        self.known.insert((parent, start), node);
        node
    }

    /// The node of what is `inlined` into the function of `node` at `ip`; that one where nothing is.
    fn within(&mut self, node: NodeKey, ip: u64, inlined: impl FnOnce() -> Arc<[Arc<str>]>) -> NodeKey {
        if let Some(&known) = self.within.get(&(node, ip)) {
            return known;
        }
        let within = inlined().iter().fold(node, |node, name| self.inlined_below(node, name));
        self.within.insert((node, ip), within);
        within
    }

    /// The node of a function inlined into that of `parent`: never called, so its time stands beside no calls.
    fn inlined_below(&mut self, parent: NodeKey, name: &Arc<str>) -> NodeKey {
        let nodes = &mut self.code.nodes;
        let recording = nodes.get(&parent).and_then(|parent| parent.recording.clone());
        let node = parent.below(name);
        nodes.entry(node).or_insert_with(|| KernelNode { parent, function: Arc::clone(name), recording });
        node
    }

    /// `block` runs in `frame`.
    fn run(&mut self, entered: &Entered, block: &Block, frame: Innermost, now: Tsc) {
        if frame.serial != self.frame.serial {
            self.settle();
        }
        self.frame = frame;
        // A switch has the time that its record took from the clock: the function of the next block ran on since then.
        if let Some(came) = self.came.take().filter(|&came| came < now) {
            let range = TscRange::new(came, now);
            let (node, occurrence) = (entered.within, frame.occurrence);
            self.code.push(KernelRun { range, node, occurrence, calls: 0 });
        }
        if self.steps.is_empty() {
            (self.since, self.until) = (now, now);
        }
        let slots = self.time_reaches(block);
        let Entered { node, mut calls, within } = *entered;
        if calls > 0 && within != node {
            self.steps.push(Step { node, calls, slots: 0 });
            calls = 0;
        }
        match self.steps.last_mut() {
            Some(last) if last.node == within && calls == 0 => last.slots += slots,
            _ => self.steps.push(Step { node: within, calls, slots }),
        }
    }

    /// `block` runs now: divides the time before it. How many of its slots count for the time that is open: the time of a block
    /// that is read ahead is that of the branch it leads to, so it ran before.
    fn time_reaches(&mut self, block: &Block) -> u64 {
        let is_ahead = block.time.not_before < block.time.likely;
        let is_open = self.until > self.since;
        if is_open && !is_ahead {
            self.spread();
        }
        if is_ahead && !is_open { 0 } else { slots(block) }
    }

    /// It is `at` now.
    pub(super) fn advance(&mut self, at: Tsc) {
        if self.until > self.since {
            self.spread();
        }
        self.until = at;
    }

    /// Divides the time up to now among the steps; the last one goes on.
    fn spread(&mut self) {
        let whole: u64 = self.steps.iter().map(|step| step.slots).sum();
        let ticks = u128::from(self.until.0.saturating_sub(self.since.0));
        let (mut passed, mut from) = (0, self.since);
        let count = self.steps.len();
        for (index, step) in self.steps.iter().enumerate() {
            passed += step.slots;
            let part = (ticks * u128::from(passed)).checked_div(u128::from(whole)).unwrap_or_default();
            let is_last = index + 1 == count;
            let to = if is_last {
                self.until
            } else {
                Tsc(self.since.0 + u64::try_from(part).unwrap_or_default())
            };
            let range = TscRange::new(from, to);
            let (node, occurrence, calls) = (step.node, self.frame.occurrence, step.calls);
            self.code.push(KernelRun { range, node, occurrence, calls });
            from = to;
        }
        if let Some(last) = self.steps.pop() {
            self.steps.clear();
            self.steps.push(Step { calls: 0, slots: 0, ..last });
        }
        self.since = self.until;
    }

    fn settle(&mut self) {
        self.spread();
        self.steps.clear();
    }

    /// The thread has come onto its CPU at `at`.
    pub(super) fn scheduled(&mut self, at: Tsc) {
        self.came = Some(at);
    }

    /// What runs ends at `at`.
    pub(super) fn close(&mut self, at: Tsc) {
        self.came = None;
        self.until = at.max(self.since);
        self.settle();
        self.last = None;
    }

    /// What runs began no earlier than `at`: time was not known before.
    pub(super) fn postpone(&mut self, at: Tsc) {
        (self.since, self.until) = (at, at);
    }
}

/// What `block` counts for where time is divided, in instructions.
fn slots(block: &Block) -> u64 {
    let transfer = match block.end {
        BlockEnd::Jump | BlockEnd::Call | BlockEnd::Return => SLOTS_OF_TRANSFER,
        _ => 0,
    };
    u64::from(block.instructions) + transfer
}
