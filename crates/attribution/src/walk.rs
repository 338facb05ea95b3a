//! Follows one thread through decoded flows: which kernel entries it was in, which user functions it ran, where
//! time stood still and where the trace says nothing.
//!
//! Input: the flow items of the thread's stays on CPUs, in order of time. Output: an [`Activity`]. Frames nest: the
//! kernel entry that interrupts another lies inside it and is deeper. Times are the last time packet before an edge.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Cause, Cpu, Ticks, Tsc, TscRange};
use pt::{Block, BlockEnd, EventKind, FlowItem, Gap, PtEvent, TimeBounds};

use crate::entries::{Landmark, UNNAMED_SYSCALL, entry_cause, landmark};
use crate::functions::{Function, Functions};

/// A stretch of kernel work: an entry until its return, or a landmark function until it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// When, the work that interrupted it included.
    pub(crate) range: TscRange,
    /// What for.
    pub(crate) cause: Cause,
    /// The symbol that told: the entry stub or the landmark function.
    pub(crate) symbol: Arc<str>,
    /// How many frames it lies in: the deepest one is what really ran.
    pub(crate) depth: usize,
    /// The CPU on which it began.
    pub(crate) cpu: Option<Cpu>,
    /// Where its first packets stand in that CPU's AUX stream.
    pub(crate) aux_offset: u64,
    /// How far its edges may be off.
    pub(crate) uncertainty: Ticks,
    /// Whether it was open when the flow began, so that its start is a lower bound only.
    pub(crate) began_before: bool,
}

/// User code that ran in one function without leaving it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// When.
    pub(crate) range: TscRange,
    /// The function; `None` where no symbol covers it.
    pub(crate) function: Option<Arc<str>>,
    /// Instructions executed.
    pub(crate) instructions: u64,
    /// How often the function's first instruction was executed.
    pub(crate) calls: u64,
    /// The core:bus ratio that CBR last told, 0 where none did.
    pub(crate) ratio: u32,
    /// The CPU on which it ran.
    pub(crate) cpu: Option<Cpu>,
    /// Where it began in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// Time that passed between two neighbouring packets without anything retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stall {
    /// From the last time seen before to the first one after.
    pub(crate) range: TscRange,
    /// The function in which it happened.
    pub(crate) function: Option<Arc<str>>,
    /// Whether it ended with a new core:bus ratio.
    pub(crate) ratio_changed: bool,
    /// Where in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// A stretch about which the flow says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// When.
    pub(crate) range: TscRange,
    /// Why, in words.
    pub(crate) why: String,
    /// Whether packets or code were lost; else tracing was off.
    pub(crate) lost: bool,
    /// Where in the AUX stream.
    pub(crate) aux_offset: u64,
}

/// What a thread did, as far as its flows tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Kernel work, in the order in which it ended.
    pub(crate) frames: Vec<Frame>,
    /// User work, in order of time.
    pub(crate) runs: Vec<Run>,
    /// Stand-stills of at least the walker's threshold.
    pub(crate) stalls: Vec<Stall>,
    /// Loss, and tracing off.
    pub(crate) silences: Vec<Silence>,
}

/// How a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// With the return from the kernel entry.
    FarReturn,
    /// When the call depth falls below this.
    CallDepth(i64),
}

struct OpenFrame {
    cause: Cause,
    symbol: Arc<str>,
    start: Tsc,
    closing: Closing,
    /// Where its function begins.
    function_start: u64,
    cpu: Option<Cpu>,
    aux_offset: u64,
    uncertainty: Ticks,
    began_before: bool,
}

/// Follows one thread. Feed it the items of its stays in order, then take the [`Activity`].
pub(crate) struct Walker<'a> {
    functions: &'a dyn Functions,
    stall_threshold: Ticks,
    out: Activity,
    frames: Vec<OpenFrame>,
    open_run: Option<Run>,
    call_depth: i64,
    previous: Option<Block>,
    pending_entry: Option<PtEvent>,
    silence: Option<Silence>,
    ratio: u32,
    ratio_changed: bool,
    cpu: Option<Cpu>,
    now: Tsc,
    current: Option<Function>,
    landmarks: HashMap<u64, Option<(Landmark, Arc<str>)>>,
}

impl<'a> Walker<'a> {
    /// A walker that reports stand-stills of at least `stall_threshold`.
    pub(crate) fn new(functions: &'a dyn Functions, stall_threshold: Ticks) -> Walker<'a> {
        Walker {
            functions,
            stall_threshold,
            out: Activity::default(),
            frames: Vec::new(),
            open_run: None,
            call_depth: 0,
            previous: None,
            pending_entry: None,
            silence: None,
            ratio: 0,
            ratio_changed: false,
            cpu: None,
            now: Tsc(0),
            current: None,
            landmarks: HashMap::new(),
        }
    }

    /// The thread comes onto `cpu` at `at`. Its kernel frames stay open: they belong to the thread, not to the CPU.
    pub(crate) fn switch_in(&mut self, cpu: Option<Cpu>, at: Tsc) {
        self.cpu = cpu;
        self.now = at;
        self.previous = None;
        self.pending_entry = None;
    }

    /// The thread leaves its CPU at `at`.
    pub(crate) fn switch_out(&mut self, at: Tsc) {
        self.close_run(at);
        self.end_silence(at);
        self.previous = None;
    }

    /// The next item of the thread's flow.
    pub(crate) fn item(&mut self, item: &FlowItem) {
        match item {
            FlowItem::Block(block) => self.block(block),
            FlowItem::Event(event) => self.event(event),
            FlowItem::Gap(gap) => self.gap(gap),
        }
    }

    /// Ends all that is open at `at` and returns what was seen.
    pub(crate) fn finish(mut self, at: Tsc) -> Activity {
        self.close_run(at);
        self.end_silence(at);
        while let Some(frame) = self.frames.pop() {
            self.close_frame(frame, at, Ticks(0));
        }
        self.out.runs.sort_by_key(|run| run.range.start);
        self.out
    }

    fn block(&mut self, block: &Block) {
        let at = self.advance(&block.time, block.aux_offset);
        self.end_silence(at);
        self.follow_entry_or_return(block, at);
        self.look_up(block, at);
        if block.kernel {
            self.close_run(at);
            self.correct_call_depth();
            self.notice_landmark(block, at);
        } else {
            self.extend_run(block, at);
        }
        self.count_calls(block, at);
        self.previous = Some(*block);
    }

    fn event(&mut self, event: &PtEvent) {
        let at = self.advance(&event.time, event.aux_offset);
        match event.kind {
            EventKind::AsyncBranch { .. } => self.pending_entry = Some(*event),
            EventKind::CoreBusRatio { ratio } => {
                self.ratio_changed = self.ratio != 0 && self.ratio != ratio;
                if self.ratio_changed {
                    self.close_run(at);
                }
                self.ratio = ratio;
            }
            EventKind::Overflow { .. } => {
                self.begin_silence(at, "the core's buffer overflowed".into(), true, event.aux_offset);
            }
            EventKind::Disabled { .. } | EventKind::TraceStop => {
                self.begin_silence(at, "tracing was off".into(), false, event.aux_offset);
            }
            EventKind::Enabled { .. } => self.end_silence(at),
            _ => {}
        }
    }

    fn gap(&mut self, gap: &Gap) {
        let at = self.advance(&gap.time, gap.aux_offset);
        self.begin_silence(at, gap.reason.to_string(), true, gap.aux_offset);
        // What was open may have ended inside the gap; call depths mean nothing behind it.
        while let Some(frame) = self.frames.pop() {
            self.close_frame(frame, at, Ticks(0));
        }
        self.call_depth = 0;
        self.previous = None;
    }

    /// Moves the clock to an item; a long step without anything retired becomes a [`Stall`].
    fn advance(&mut self, time: &TimeBounds, aux_offset: u64) -> Tsc {
        let at = time.not_before.max(self.now);
        let stood_still = self.previous.is_some() && self.silence.is_none();
        if stood_still && at.since(self.now) >= self.stall_threshold {
            self.out.stalls.push(Stall {
                range: TscRange::new(self.now, at),
                function: self.current.as_ref().map(|function| function.name.clone()),
                ratio_changed: std::mem::take(&mut self.ratio_changed),
                aux_offset,
            });
        }
        self.now = at;
        at
    }

    fn begin_silence(&mut self, at: Tsc, why: String, lost: bool, aux_offset: u64) {
        self.close_run(at);
        self.end_silence(at);
        self.silence = Some(Silence { range: TscRange::new(at, at), why, lost, aux_offset });
    }

    fn end_silence(&mut self, at: Tsc) {
        if let Some(mut silence) = self.silence.take() {
            silence.range = TscRange::new(silence.range.start, at);
            if !silence.range.is_empty() {
                self.out.silences.push(silence);
            }
        }
    }

    /// Opens and closes entry frames by how execution came to `block`.
    fn follow_entry_or_return(&mut self, block: &Block, at: Tsc) {
        let entry = self.pending_entry.take();
        if !block.kernel {
            if !self.frames.is_empty() {
                let uncertainty = width(&block.time);
                while let Some(frame) = self.frames.pop() {
                    self.close_frame(frame, at, uncertainty);
                }
            }
            if self.previous.is_some_and(|previous| previous.kernel) {
                self.call_depth = 0;
            }
            return;
        }
        if let Some(event) = entry {
            self.open_entry(block, at, event.aux_offset);
        } else if self.previous.is_some_and(|previous| !previous.kernel) {
            self.open_entry(block, at, block.aux_offset);
        } else if self.previous.is_some_and(|previous| previous.end == BlockEnd::FarReturn) {
            self.return_from_nested_entry(block, at);
        } else if self.frames.is_empty() {
            self.open_entry(block, at, block.aux_offset);
            if let Some(frame) = self.frames.last_mut() {
                frame.began_before = true;
            }
        }
    }

    fn open_entry(&mut self, block: &Block, at: Tsc, aux_offset: u64) {
        let symbol = self
            .function_of(block, at)
            .map_or_else(|| Arc::from(format!("{:#x}", block.ip)), |function| function.name);
        self.frames.push(OpenFrame {
            cause: entry_cause(&symbol),
            symbol,
            start: at,
            closing: Closing::FarReturn,
            function_start: 0,
            cpu: self.cpu,
            aux_offset,
            uncertainty: width(&block.time),
            began_before: false,
        });
    }

    /// An `iret` that stays in the kernel ends the innermost entry and what it called.
    fn return_from_nested_entry(&mut self, block: &Block, at: Tsc) {
        let entries = self.frames.iter().filter(|frame| frame.closing == Closing::FarReturn).count();
        if entries <= 1 {
            return;
        }
        while let Some(frame) = self.frames.pop() {
            let was_entry = frame.closing == Closing::FarReturn;
            self.close_frame(frame, at, width(&block.time));
            if was_entry {
                break;
            }
        }
    }

    /// Opens a frame where a landmark function begins; names the system call whose body begins.
    fn notice_landmark(&mut self, block: &Block, at: Tsc) {
        let Some(function) = self.current.as_ref().filter(|function| function.start == block.ip) else {
            return;
        };
        let name = function.name.clone();
        let known =
            self.landmarks.entry(block.ip).or_insert_with(|| landmark(&name).map(|mark| (mark, name)));
        let Some((mark, symbol)) = known.clone() else { return };
        let cause = match mark {
            Landmark::SyscallBody(call) => return self.name_syscall(&call),
            Landmark::Softirq(name) => Cause::Softirq(name.into()),
            Landmark::Schedule => Cause::Schedule,
        };
        self.frames.push(OpenFrame {
            cause,
            symbol,
            start: at,
            closing: Closing::CallDepth(self.call_depth),
            function_start: block.ip,
            cpu: self.cpu,
            aux_offset: block.aux_offset,
            uncertainty: width(&block.time),
            began_before: false,
        });
    }

    /// In the body of the innermost landmark function the call depth is the one at which it was entered: calls and
    /// returns that fell on the other side of a context switch are put right here.
    fn correct_call_depth(&mut self) {
        let Some(function) = &self.current else { return };
        if let Some(frame) = self.frames.last()
            && let Closing::CallDepth(depth) = frame.closing
            && frame.function_start == function.start
        {
            self.call_depth = depth;
        }
    }

    fn name_syscall(&mut self, call: &str) {
        let innermost = self.frames.iter_mut().rev().find(|frame| frame.closing == Closing::FarReturn);
        if let Some(frame) = innermost
            && frame.cause == Cause::Syscall(UNNAMED_SYSCALL.into())
        {
            frame.cause = Cause::Syscall(call.to_owned());
        }
    }

    fn count_calls(&mut self, block: &Block, at: Tsc) {
        match block.end {
            BlockEnd::Call => self.call_depth += 1,
            BlockEnd::Return => {
                self.call_depth -= 1;
                self.close_returned_frames(at);
            }
            _ => {}
        }
    }

    fn close_returned_frames(&mut self, at: Tsc) {
        while let Some(frame) = self.frames.last() {
            match frame.closing {
                Closing::CallDepth(depth) if self.call_depth < depth => {
                    if let Some(frame) = self.frames.pop() {
                        self.close_frame(frame, at, Ticks(0));
                    }
                }
                _ => return,
            }
        }
    }

    fn close_frame(&mut self, frame: OpenFrame, at: Tsc, uncertainty: Ticks) {
        let range = TscRange::new(frame.start, at);
        if range.is_empty() {
            return;
        }
        self.out.frames.push(Frame {
            range,
            cause: frame.cause,
            symbol: frame.symbol,
            depth: self.frames.len(),
            cpu: frame.cpu,
            aux_offset: frame.aux_offset,
            uncertainty: frame.uncertainty.max(uncertainty),
            began_before: frame.began_before,
        });
    }

    fn extend_run(&mut self, block: &Block, at: Tsc) {
        let name = self.current.as_ref().map(|function| function.name.clone());
        let starts_function = self.current.as_ref().is_some_and(|function| function.start == block.ip);
        if self.open_run.as_ref().is_some_and(|run| run.function != name) {
            self.close_run(at);
        }
        let (ratio, cpu) = (self.ratio, self.cpu);
        let run = self.open_run.get_or_insert_with(|| Run {
            range: TscRange::new(at, at),
            function: name,
            instructions: 0,
            calls: 0,
            ratio,
            cpu,
            aux_offset: block.aux_offset,
        });
        run.instructions += u64::from(block.instructions);
        run.calls += u64::from(starts_function);
    }

    fn close_run(&mut self, at: Tsc) {
        if let Some(mut run) = self.open_run.take() {
            run.range = TscRange::new(run.range.start, at);
            self.out.runs.push(run);
        }
    }

    fn look_up(&mut self, block: &Block, at: Tsc) {
        if !self.current.as_ref().is_some_and(|function| function.range.contains(&block.ip)) {
            self.current = self.function_of(block, at);
        }
    }

    fn function_of(&self, block: &Block, at: Tsc) -> Option<Function> {
        let pid = block.thread.map_or(model::Pid::KERNEL, |thread| thread.pid);
        self.functions.function_at(pid, block.ip, at)
    }
}

/// How far apart the bounds lie; zero where the far one is not known.
fn width(time: &TimeBounds) -> Ticks {
    if time.not_after.0 == u64::MAX { Ticks(0) } else { time.not_after.since(time.not_before) }
}
