//! Follows one CPU's flow and cuts it into stretches: what one thread did there between two switches.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Cpu, Pid, ThreadId, Tsc, TscRange};
use pt::{Block, BlockEnd, EventKind, FlowItem, FlowSink, Grain, PtEvent, WatchedCalls};

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
///
/// It takes all blocks, or only those around the calls: see [`FunctionCalls::watching`].
#[derive(Debug)]
pub struct FunctionCalls<'e> {
    entries: &'e [EntryPoint],
    watched: Option<&'e Mutex<WatchedCalls>>,
    /// How many of the addresses at which calls return were watched from the start.
    returns: usize,
    /// Others that share `watched` met a call whose return is not known.
    is_in_vain: bool,
    cpu: Option<Cpu>,
    range: TscRange,
    current: Option<Stretch>,
    done: Vec<Stretch>,
    in_kernel: bool,
    /// When the last item was.
    now: Tsc,
}

impl<'e> FunctionCalls<'e> {
    /// For the flow of `cpu`. `entries` must be in ascending order. Items that begin outside of `range` are not looked
    /// at, so that adjacent windows of one stream, which overlap, find nothing twice.
    pub fn new(entries: &'e [EntryPoint], cpu: Option<Cpu>, range: TscRange) -> FunctionCalls<'e> {
        FunctionCalls {
            entries,
            watched: None,
            returns: usize::MAX,
            is_in_vain: false,
            cpu,
            range,
            current: None,
            done: Vec::new(),
            in_kernel: false,
            now: Tsc(0),
        }
    }

    /// The same, of the blocks around the calls alone. What is learnt of these goes into `watched`, which others may share; what is known from
    /// the start is taken from there.
    pub fn watching(
        entries: &'e [EntryPoint],
        cpu: Option<Cpu>,
        range: TscRange,
        watched: &'e Mutex<WatchedCalls>,
    ) -> FunctionCalls<'e> {
        let (returns, is_in_vain) = {
            let known = lock(watched);
            (known.returns(), known.is_unsure())
        };
        FunctionCalls {
            watched: Some(watched),
            returns,
            is_in_vain,
            ..FunctionCalls::new(entries, cpu, range)
        }
    }

    /// Whether calls may have returned where that was not looked for.
    pub fn is_incomplete(&self) -> bool {
        self.watched.is_some_and(|watched| self.returns < lock(watched).returns())
    }

    /// What was found, in order of time.
    pub fn finish(mut self) -> Vec<Stretch> {
        if let Some(mut stretch) = self.current.take() {
            stretch.user.end(self.now);
            stretch.kernel.end(self.now);
            self.done.push(stretch);
        }
        self.done
    }

    fn stretch(&mut self, thread: Option<ThreadId>, at: Tsc) -> &mut Stretch {
        if let Some(mut last) = self.current.take_if(|current| current.thread != thread) {
            last.user.end_far_return(at);
            last.kernel.end_far_return(at);
            self.done.push(last);
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
        let stack = self.stack(block.kernel, block.thread, at);
        stack.begin_block(block.ip, wanted, at);
        stack.end_block(block.end, block.end_ip);
        if block.end == BlockEnd::FarCall && !block.kernel {
            self.stretch(block.thread, at).kernel.far_entry(at);
        }
    }

    /// The calls on the level on which something runs.
    fn stack(&mut self, kernel: bool, thread: Option<ThreadId>, at: Tsc) -> &mut Stack {
        let left_kernel = std::mem::replace(&mut self.in_kernel, kernel) && !kernel;
        let stretch = self.stretch(thread, at);
        if left_kernel {
            stretch.kernel.leave(at);
        }
        if kernel { &mut stretch.kernel } else { &mut stretch.user }
    }

    fn is_entry(&self, ip: u64, thread: Option<ThreadId>) -> bool {
        let first = self.entries.partition_point(|entry| entry.ip < ip);
        let here = self.entries[first..].iter().take_while(|entry| entry.ip == ip);
        let pid = thread.map(|thread| thread.pid);
        here.clone().any(|entry| entry.pid.is_none() || pid.is_none() || entry.pid == pid)
    }

    fn event(&mut self, event: &PtEvent) {
        let at = event.time.likely;
        match event.kind {
            EventKind::WatchedCall { returns_to: ip }
            | EventKind::WatchedEntry { ip }
            | EventKind::WatchedReturn { to: ip } => return self.watched_call(event, ip),
            EventKind::AsyncBranch { from, to } => {
                let stack = self.stack(is_kernel(from), event.thread, at);
                if is_kernel(from) == is_kernel(to) {
                    stack.arrive(from, at);
                }
                if is_kernel(to) {
                    self.stretch(event.thread, at).kernel.far_entry(at);
                }
                return;
            }
            _ => {}
        }
        let in_kernel = self.in_kernel;
        let stretch = self.stretch(event.thread, at);
        let stack = if in_kernel { &mut stretch.kernel } else { &mut stretch.user };
        match event.kind {
            EventKind::Disabled { ip, .. } => stack.disabled(ip, at),
            EventKind::Enabled { resumed: false, ip } if is_kernel(ip) == in_kernel => {
                stack.enabled_elsewhere();
            }
            EventKind::Overflow { .. } => self.lost(event.thread, at),
            _ => {}
        }
    }

    /// What the engine says of watched calls on the level of `ip`.
    fn watched_call(&mut self, event: &PtEvent, ip: u64) {
        let at = event.time.likely;
        let stack = self.stack(is_kernel(ip), event.thread, at);
        stack.end_far_return(at);
        match event.kind {
            EventKind::WatchedCall { returns_to } => stack.called(returns_to),
            EventKind::WatchedEntry { .. } => stack.enter(at),
            EventKind::WatchedReturn { to } => stack.returned(Some(to), at),
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
    fn grain(&self) -> Grain {
        if self.watched.is_some() { Grain::Calls } else { Grain::Blocks }
    }

    fn watched(&self) -> WatchedCalls {
        self.watched.map(|watched| lock(watched).clone()).unwrap_or_default()
    }

    fn learnt(&mut self, learnt: &WatchedCalls) {
        if let Some(watched) = self.watched {
            lock(watched).learn_from(learnt);
        }
    }

    fn item(&mut self, item: &FlowItem) -> ControlFlow<()> {
        let (FlowItem::Block(Block { time, .. }) | FlowItem::Event(PtEvent { time, .. })) = item else {
            if let FlowItem::Gap(gap) = item {
                self.lost(gap.thread, gap.time.likely);
            }
            return ControlFlow::Continue(());
        };
        if time.likely >= self.range.stop || self.is_in_vain {
            return ControlFlow::Break(());
        }
        if time.likely >= self.range.start {
            self.now = time.likely;
            match item {
                FlowItem::Block(block) => self.block(block),
                FlowItem::Event(event) => self.event(event),
                FlowItem::Gap(_) => {}
            }
        }
        ControlFlow::Continue(())
    }
}

fn lock(watched: &Mutex<WatchedCalls>) -> MutexGuard<'_, WatchedCalls> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an address lies in the kernel's half.
fn is_kernel(ip: u64) -> bool {
    ip >> 63 != 0
}
