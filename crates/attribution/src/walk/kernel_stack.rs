//! The kernel work that a thread has begun and not ended: entries and landmark functions, innermost last.
//!
//! Input: entries, returns, calls and functions in the order of the walk. Output: [`Frame`]s as they end. Invariant:
//! frames end in the reverse order of their beginning, so of two that overlap one is nested in the other.

use std::sync::Arc;

use model::{Cause, Ticks, Tsc, TscRange};

use super::activity::Frame;
use super::calls::CallSites;
use super::clock::Moment;
use super::kernel_runs::Innermost;
use super::user_code::ByAddress;
use crate::inputs::functions::Function;
use crate::tables::exceptions::exception_at;
use crate::tables::kernel_entries::{
    Landmark, UNNAMED_SYSCALL, calls_for_others, drops_translations, entry_cause, is_bookkeeping, is_thunk,
    kernel_thread, landmark, serves_all,
};
use crate::tables::kernel_spins::spins_by_itself;
use crate::tables::page_faults::{FaultWork, words_of, work_of};
use crate::tables::recording::serves_the_recording;
use crate::tables::timers::timer_of;

/// Interrupts nest a few levels deep; deeper nesting is damage and is ignored.
const DEEPEST: usize = 64;

/// How many particulars of one frame are kept: a CPU may receive many requests at once.
const MOST_PARTICULARS: usize = 3;

/// How a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// With the return from the kernel entry.
    FarReturn,
    /// With the return of the function that begins at this address.
    Return(u64),
}

struct OpenFrame {
    /// Larger than that of every frame before, which `occurrence` need not be.
    serial: u64,
    cause: Cause,
    symbol: Arc<str>,
    occurrence: u64,
    begin: Moment,
    closing: Closing,
    /// How many calls were open when it began, including its own.
    calls: usize,
    /// Whether its function's own code ran since the thread came onto its CPU.
    in_body: bool,
    began_before: bool,
    address: Option<u64>,
    /// What a page fault did.
    fault_work: FaultWork,
    particulars: Vec<Arc<str>>,
}

/// What a kernel function shows about the work it is part of.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Meaning {
    entry: Option<Cause>,
    landmark: Option<Landmark>,
    /// What a page fault in which it runs does.
    fault_work: FaultWork,
    /// The timer that calls it.
    timer: Option<&'static str>,
    /// It calls what others requested.
    calls_for_others: bool,
    is_thunk: bool,
    /// Recording itself takes this time.
    serves_the_recording: bool,
    /// It serves a processor exception without a cause of its own.
    serves_exception: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct KernelStack {
    open: Vec<OpenFrame>,
    calls: CallSites,
    /// Causes and occurrences of the frames that a loss cut off, innermost last.
    cut_off: Vec<(Cause, u64)>,
    happenings: u64,
    meanings: ByAddress<u64, Arc<Meaning>>,
    /// The function that was visited last.
    visited: Option<(u64, Arc<Meaning>)>,
    closed: Vec<Frame>,
    /// The thread came back onto a CPU at this time and, as far as is known, has not left the scheduler since.
    scheduled_at: Option<Tsc>,
    /// The function that runs calls what others requested.
    in_caller: bool,
    /// It has just called something.
    called: bool,
    paused: Option<Paused>,
}

/// Spinning of a function that has called one in which it does not.
struct Paused {
    /// The function.
    start: u64,
    occurrence: u64,
    /// How many frames are open around it.
    depth: usize,
}

impl KernelStack {
    /// Whether no kernel work is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The innermost frame and the open calls.
    pub(super) fn innermost(&self) -> Innermost {
        let depth = self.calls.depth();
        let (serial, occurrence, calls) =
            self.open.last().map_or((0, 0, 0), |frame| (frame.serial, frame.occurrence, frame.calls));
        Innermost { serial, occurrence, calls, depth }
    }

    /// The kernel's calls that have not returned, outermost first.
    pub(crate) fn call_sites(&self) -> &[u64] {
        self.calls.innermost()
    }

    /// The kernel was entered at `function` (at `ip` where no symbol covers it).
    pub(crate) fn enter(&mut self, function: Option<&Function>, ip: u64, begin: Moment) {
        let symbol = name_of(function, ip);
        self.push(entry_cause(&symbol), symbol, Closing::FarReturn, begin, false);
    }

    /// The flow begins or resumes inside the kernel: the entry is not known yet.
    pub(crate) fn begin_inside(&mut self, function: Option<&Function>, ip: u64, begin: Moment) {
        let symbol = name_of(function, ip);
        self.push(entry_cause(&symbol), symbol, Closing::FarReturn, begin, true);
        self.recognise_innermost();
    }

    /// An `iret` that stays in the kernel ends the innermost entry and what it called. It went to `function` at `ip`.
    /// Where that entry was the outermost known one, this is work that began before the flow.
    pub(crate) fn return_from_interrupt(&mut self, function: Option<&Function>, ip: u64, end: Moment) {
        let Some(entry) = self.open.iter().rposition(|frame| frame.closing == Closing::FarReturn) else {
            return;
        };
        if entry == 0 && !self.open[0].began_before {
            // Entered from user code and not left yet: so this is no return from an interrupt.
            return;
        }
        self.close_from(entry, end.at, end.uncertainty);
        if self.open.is_empty() {
            self.begin_inside(function, ip, end);
        }
    }

    /// Whether the innermost work is the scheduler's.
    pub(crate) fn is_in_scheduler(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.cause == Cause::Schedule)
    }

    /// Whether the innermost work is spinning for a lock.
    fn is_spinning(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.cause == Cause::KernelSpin)
    }

    /// Whether spinning has begun for a lock of which nothing is known yet.
    pub(crate) fn begins_to_spin(&self) -> bool {
        self.is_spinning() && self.open.last().is_some_and(|frame| frame.particulars.is_empty())
    }

    /// Adds to the particulars of the innermost work.
    pub(crate) fn say_innermost(&mut self, particular: Arc<str>) {
        if let Some(frame) = self.open.last_mut() {
            frame.particulars.push(particular);
        }
    }

    /// User code runs: all kernel work has ended.
    pub(crate) fn leave(&mut self, at: Tsc, uncertainty: Ticks) {
        self.close_from(0, at, uncertainty);
        self.calls.cut_to(0);
        self.cut_off.clear();
        self.paused = None;
        self.scheduled_at = None;
    }

    /// Packets were lost from `at` on: the end of open work may be missing.
    pub(crate) fn cut(&mut self, at: Tsc) {
        if !self.open.is_empty() {
            self.cut_off = self.open.iter().map(|frame| (frame.cause.clone(), frame.occurrence)).collect();
        }
        self.close_from(0, at, Ticks(0));
        self.calls.cut_to(0);
        self.paused = None;
        self.scheduled_at = None;
    }

    /// Frames that began at `from`, where time was not known, began at `to`.
    pub(crate) fn postpone(&mut self, from: Tsc, to: Tsc) {
        for frame in self.open.iter_mut().rev().take_while(|frame| frame.begin.at == from) {
            frame.begin.at = to;
        }
    }

    /// The thread comes back onto a CPU: where it resumes is not known until its functions run.
    pub(crate) fn switch_in(&mut self) {
        for frame in &mut self.open {
            frame.in_body = false;
        }
    }

    /// The thread comes back by a switch at `at`: it is in the scheduler until that returns.
    pub(crate) fn scheduled(&mut self, at: Tsc) {
        self.scheduled_at = Some(at);
    }

    /// The call instruction at `ip` executed.
    pub(crate) fn call(&mut self, ip: u64) {
        self.calls.call(ip);
        self.called = self.in_caller;
    }

    /// The entry that has just begun is a page fault at `address`.
    pub(crate) fn fault_at(&mut self, address: u64) {
        if let Some(frame) = self.open.last_mut() {
            frame.address = Some(address);
        }
    }

    /// Adds to the particulars of the innermost entry.
    pub(crate) fn say(&mut self, particular: Arc<str>) {
        if let Some(frame) = self.open.iter_mut().rev().find(|frame| frame.closing == Closing::FarReturn)
            && frame.particulars.len() < MOST_PARTICULARS
            && !frame.particulars.contains(&particular)
        {
            frame.particulars.push(particular);
        }
    }

    /// A near return went to `ip`, in `function` where known.
    pub(crate) fn return_to(&mut self, ip: u64, function: Option<&Function>, at: Tsc) {
        let matched = self.calls.return_to(ip);
        while let Some(frame) = self.open.last()
            && let Closing::Return(start) = frame.closing
        {
            let elsewhere = function.is_some_and(|function| function.start != start);
            let left = if matched {
                self.calls.depth() < frame.calls
            } else {
                // Its caller is not known, and no call that it made is open: so it has returned itself.
                frame.in_body && elsewhere && self.calls.depth() <= frame.calls
            };
            if !left {
                return;
            }
            self.close_from(self.open.len() - 1, at, Ticks(0));
        }
    }

    /// `function` runs at `ip`: opens the frame of a landmark, and names an entry that has no name yet. Whether it only leads on to
    /// another function, or back.
    pub(crate) fn visit(&mut self, function: &Function, ip: u64, moment: Moment) -> bool {
        let meaning = self.meaning(function);
        if meaning.is_thunk {
            return true;
        }
        self.in_caller = meaning.calls_for_others;
        if std::mem::take(&mut self.called) && ip == function.start {
            self.see_asked_for(&function.name);
        }
        if meaning.fault_work != 0 {
            self.do_in_fault(meaning.fault_work);
        }
        if let Some(timer) = meaning.timer {
            self.say(Arc::from(timer));
        }
        if meaning.serves_the_recording {
            self.say(Arc::from("perf itself: it serves the recording"));
        }
        if let Some(frame) = self.open.last_mut()
            && frame.closing == Closing::Return(function.start)
        {
            frame.in_body = true;
            if ip != function.start {
                return false;
            }
        }
        if meaning.landmark.is_none() {
            self.pause(moment);
        }
        if let Some(entry) = &meaning.entry {
            self.name_entry(entry, &function.name);
        } else if meaning.serves_exception {
            self.name_exception(&function.name);
        }
        match &meaning.landmark {
            Some(Landmark::SyscallBody(call)) => {
                self.name_entry(&Cause::Syscall(call.clone()), &function.name);
            }
            Some(Landmark::Softirq(name)) => {
                self.landmark(Cause::Softirq((*name).into()), function, ip, moment);
            }
            Some(Landmark::Schedule) => self.landmark(Cause::Schedule, function, ip, moment),
            Some(Landmark::Spin) if self.is_spinning() => {}
            Some(Landmark::Spin) => self.landmark(Cause::KernelSpin, function, ip, moment),
            None => {}
        }
        false
    }

    /// Where the innermost work is that of a function which spins by itself alone, another one that it has called runs.
    fn pause(&mut self, moment: Moment) {
        let innermost = self.open.last().filter(|frame| frame.cause == Cause::KernelSpin);
        let Some(frame) = innermost.filter(|frame| spins_by_itself(&frame.symbol)) else { return };
        if let Closing::Return(start) = frame.closing {
            let (occurrence, depth) = (frame.occurrence, self.open.len() - 1);
            self.close_from(depth, moment.at, moment.uncertainty);
            self.paused = Some(Paused { start, occurrence, depth });
        }
    }

    fn meaning(&mut self, function: &Function) -> Arc<Meaning> {
        if let Some((_, meaning)) = self.visited.as_ref().filter(|(start, _)| *start == function.start) {
            return Arc::clone(meaning);
        }
        let meaning =
            self.meanings.entry(function.start).or_insert_with(|| Meaning::of(&function.name).into());
        self.visited = Some((function.start, Arc::clone(meaning)));
        Arc::clone(meaning)
    }

    /// The innermost entry, if it is a page fault, does `work`.
    fn do_in_fault(&mut self, work: FaultWork) {
        let entry = self.open.iter_mut().rev().find(|frame| frame.closing == Closing::FarReturn);
        if let Some(fault) = entry.filter(|entry| matches!(entry.cause, Cause::PageFault(_))) {
            fault.fault_work |= work;
        }
    }

    /// `function` runs by request.
    fn see_asked_for(&mut self, function: &str) {
        if is_bookkeeping(function) || calls_for_others(function) {
            return;
        }
        let what = if drops_translations(function) { "TLB shootdown, " } else { "" };
        self.say(format!("{what}{function}()").into());
    }

    /// Ends all open work at `at` and returns the frames in the order in which they ended.
    pub(crate) fn finish(mut self, at: Tsc) -> Vec<Frame> {
        self.close_from(0, at, Ticks(0));
        self.closed
    }

    fn landmark(&mut self, cause: Cause, function: &Function, ip: u64, begin: Moment) {
        let is_paused =
            |paused: &mut Paused| (paused.start, paused.depth) == (function.start, self.open.len());
        let resumed = self.paused.take_if(is_paused).filter(|_| ip != function.start);
        let inside = ip != function.start && resumed.is_none();
        let since = self.scheduled_at.take().filter(|_| inside && cause == Cause::Schedule);
        // A flow that begins with the switch begins in the scheduler, before the scheduler's own function runs.
        let begin = match self.open.last() {
            Some(entry) if entry.began_before && since.is_some_and(|at| at <= entry.begin.at) => entry.begin,
            _ => begin,
        };
        self.push(cause, function.name.clone(), Closing::Return(function.start), begin, inside);
        if let Some(frame) = self.open.last_mut() {
            frame.in_body = true;
            frame.occurrence = resumed.map_or(frame.occurrence, |paused| paused.occurrence);
        }
        if inside {
            self.recognise_innermost();
        }
    }

    fn push(&mut self, cause: Cause, symbol: Arc<str>, closing: Closing, begin: Moment, began_before: bool) {
        if self.open.len() >= DEEPEST {
            return;
        }
        self.happenings += 1;
        self.open.push(OpenFrame {
            serial: self.happenings,
            cause,
            symbol,
            occurrence: self.happenings,
            begin,
            closing,
            calls: self.calls.depth(),
            in_body: false,
            began_before,
            address: None,
            fault_work: 0,
            particulars: Vec::new(),
        });
    }

    /// Names the innermost entry where its stub did not: it was entered before the flow began, or its stub serves
    /// many (system calls).
    fn name_entry(&mut self, cause: &Cause, symbol: &Arc<str>) {
        let innermost = self.open.iter().rposition(|frame| frame.closing == Closing::FarReturn);
        let Some(frame) = innermost.map(|index| &mut self.open[index]) else { return };
        let unnamed_call = Cause::Syscall(UNNAMED_SYSCALL.into());
        let is_call = matches!(cause, Cause::Syscall(_));
        let fits = frame.cause == Cause::KernelUnknown || (frame.cause == unnamed_call && is_call);
        if fits && frame.cause != *cause {
            frame.cause = cause.clone();
            frame.symbol = symbol.clone();
            let began_before = frame.began_before;
            if began_before && innermost == Some(self.open.len() - 1) {
                self.recognise_innermost();
            }
        }
    }

    /// `symbol` serves the innermost entry, if its stub serves all.
    fn name_exception(&mut self, symbol: &Arc<str>) {
        let innermost = self.open.iter_mut().rev().find(|frame| frame.closing == Closing::FarReturn);
        if let Some(frame) = innermost.filter(|frame| serves_all(&frame.symbol)) {
            frame.symbol = symbol.clone();
        }
    }

    /// A frame that is entered midway may be what a loss cut off: the same occurrence then, not a second one.
    fn recognise_innermost(&mut self) {
        let Some(frame) = self.open.last_mut() else { return };
        if let Some(&(_, occurrence)) = self.cut_off.iter().rev().find(|(cause, _)| *cause == frame.cause) {
            frame.occurrence = occurrence;
        }
    }

    /// Closes the frame at `index` and all inside it.
    fn close_from(&mut self, index: usize, at: Tsc, uncertainty: Ticks) {
        self.paused.take_if(|paused| index < paused.depth);
        while self.open.len() > index
            && let Some(frame) = self.open.pop()
        {
            if frame.closing == Closing::FarReturn {
                self.calls.cut_to(frame.calls);
            }
            let range = TscRange::new(frame.begin.at, at);
            if range.is_empty() {
                continue;
            }
            self.closed.push(Frame {
                range,
                cause: frame.cause,
                occurrence: frame.occurrence,
                symbol: frame.symbol,
                depth: self.open.len(),
                cpu: frame.begin.cpu,
                aux_offset: frame.begin.aux_offset,
                uncertainty: frame.begin.uncertainty.max(uncertainty),
                began_before: frame.began_before,
                address: frame.address,
                fault_work: words_of(frame.fault_work),
                particulars: frame.particulars,
            });
        }
    }
}

impl Meaning {
    fn of(function: &str) -> Meaning {
        let entry = Some(entry_cause(function)).filter(|entry| *entry != Cause::KernelUnknown);
        Meaning {
            entry: entry.or_else(|| kernel_thread(function)),
            landmark: landmark(function),
            fault_work: work_of(function),
            timer: timer_of(function),
            calls_for_others: calls_for_others(function),
            is_thunk: is_thunk(function),
            serves_the_recording: serves_the_recording(function),
            serves_exception: exception_at(function).is_some(),
        }
    }
}

fn name_of(function: Option<&Function>, ip: u64) -> Arc<str> {
    function.map_or_else(|| Arc::from(format!("{ip:#x}")), |function| function.name.clone())
}
