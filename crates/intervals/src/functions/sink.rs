//! Follows one CPU's flow and cuts it into stretches: what one thread did there between two switches.

use std::ops::ControlFlow;

use model::{Cpu, Pid, ThreadId, Tsc, TscRange};
use pt::{Block, BlockEnd, EventKind, FlowItem, FlowSink, PtEvent};

use super::stack::Stack;

/// Where a wanted function begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPoint {
    /// Address of its first instruction (AVMA).
    pub ip: u64,
    /// The process in whose address space that is; `None` for the kernel, or where any process is meant.
    pub pid: Option<Pid>,
}

/// What one thread did on one CPU without a switch in between.
#[derive(Debug)]
pub struct Stretch {
    pub(super) cpu: Option<Cpu>,
    pub(super) thread: Option<ThreadId>,
    pub(super) start: Tsc,
    pub(super) user: Stack,
    pub(super) kernel: Stack,
    /// Trace was lost in it.
    pub(super) gap: bool,
}

/// A [`FlowSink`] that finds entries and returns of functions in one CPU's flow, or in one window of it.
#[derive(Debug)]
pub struct FunctionCalls<'e> {
    entries: &'e [EntryPoint],
    cpu: Option<Cpu>,
    range: TscRange,
    current: Option<Stretch>,
    done: Vec<Stretch>,
    in_kernel: bool,
}

impl<'e> FunctionCalls<'e> {
    /// For the flow of `cpu`. `entries` must be in ascending order. Items that begin outside of `range` are not looked
    /// at, so that adjacent windows of one stream, which overlap, find nothing twice.
    pub fn new(entries: &'e [EntryPoint], cpu: Option<Cpu>, range: TscRange) -> FunctionCalls<'e> {
        FunctionCalls { entries, cpu, range, current: None, done: Vec::new(), in_kernel: false }
    }

    /// What was found, in order of time.
    pub fn finish(mut self) -> Vec<Stretch> {
        self.done.extend(self.current.take());
        self.done
    }

    fn stretch(&mut self, thread: Option<ThreadId>, at: Tsc) -> &mut Stretch {
        if self.current.as_ref().is_none_or(|current| current.thread != thread) {
            self.done.extend(self.current.take());
        }
        let cpu = self.cpu;
        self.current.get_or_insert_with(|| Stretch {
            cpu,
            thread,
            start: at,
            user: Stack::default(),
            kernel: Stack::default(),
            gap: false,
        })
    }

    fn block(&mut self, block: &Block) {
        let at = block.time.likely;
        let wanted = self.is_entry(block.ip, block.thread);
        let left_kernel = std::mem::replace(&mut self.in_kernel, block.kernel) && !block.kernel;
        let stretch = self.stretch(block.thread, at);
        if left_kernel {
            stretch.kernel.leave(at);
        }
        let stack = if block.kernel { &mut stretch.kernel } else { &mut stretch.user };
        stack.begin_block(block.ip, wanted, at);
        stack.end_block(block.end, block.end_ip);
        if block.end == BlockEnd::FarCall && !block.kernel {
            stretch.kernel.far_entry();
        }
    }

    fn is_entry(&self, ip: u64, thread: Option<ThreadId>) -> bool {
        let first = self.entries.partition_point(|entry| entry.ip < ip);
        let here = self.entries[first..].iter().take_while(|entry| entry.ip == ip);
        let pid = thread.map(|thread| thread.pid);
        here.clone().any(|entry| entry.pid.is_none() || pid.is_none() || entry.pid == pid)
    }

    fn event(&mut self, event: &PtEvent) {
        let at = event.time.likely;
        let in_kernel = self.in_kernel;
        let stretch = self.stretch(event.thread, at);
        let stack = if in_kernel { &mut stretch.kernel } else { &mut stretch.user };
        match event.kind {
            EventKind::AsyncBranch { to, .. } if is_kernel(to) => stretch.kernel.far_entry(),
            EventKind::Disabled { ip, .. } => stack.disabled(ip, at),
            EventKind::Enabled { resumed: false, ip } if is_kernel(ip) == in_kernel => {
                stack.enabled_elsewhere();
            }
            EventKind::Overflow { .. } => self.lost(event.thread, at),
            _ => {}
        }
    }

    fn lost(&mut self, thread: Option<ThreadId>, at: Tsc) {
        let stretch = self.stretch(thread, at);
        stretch.gap = true;
        stretch.user.gap();
        stretch.kernel.gap();
    }
}

impl FlowSink for FunctionCalls<'_> {
    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        let (FlowItem::Block(Block { time, .. }) | FlowItem::Event(PtEvent { time, .. })) = item else {
            if let FlowItem::Gap(gap) = item {
                self.lost(gap.thread, gap.time.likely);
            }
            return ControlFlow::Continue(());
        };
        if time.likely >= self.range.stop {
            return ControlFlow::Break(());
        }
        if time.likely >= self.range.start {
            match item {
                FlowItem::Block(block) => self.block(block),
                FlowItem::Event(event) => self.event(event),
                FlowItem::Gap(_) => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether an address lies in the kernel's half.
fn is_kernel(ip: u64) -> bool {
    ip >> 63 != 0
}
