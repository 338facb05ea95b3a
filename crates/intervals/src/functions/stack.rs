//! The calls that are open on one thread at one privilege level, followed through blocks.
//!
//! Input: how each block ended and where the next one began. Output: finished calls of the wanted functions, and what
//! cannot be decided without the thread's time on other CPUs: returns to callers that were entered elsewhere, and calls
//! that are still open. Frames are matched by return address, so stale ones (longjmp, exceptions) never shift others.

use std::collections::VecDeque;

use model::Tsc;
use pt::BlockEnd;

/// The deepest stack that is followed; the outermost frames are forgotten beyond it.
const DEEPEST: usize = 1 << 14;

/// The most returns to unknown callers that are remembered per stretch.
const MOST_RETURNS: usize = 1 << 16;

/// A call instruction has at most this many bytes, three of them prefixes, so its return address lies that near after it. Source: Intel SDM
/// vol. 2, "Instruction Format", "CALL".
const LONGEST_CALL: u64 = 10;

/// A wanted function has been entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) start: Tsc,
    /// Trace was lost while it was open.
    pub(super) crossed_gap: bool,
}

/// How a frame came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// By the call instruction at this address.
    Near(u64),
    /// By the call instruction before this address.
    Before(u64),
    /// By an interrupt, exception or system call.
    Far,
    /// Tracing began inside.
    Unknown,
}

/// One open call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    caller: Caller,
    pub(super) entry: Option<Entry>,
}

/// A return that no frame of this stretch explains: it ends one of an earlier stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foreign {
    /// A near return to this address; `None` where the trace does not give it.
    Near(Option<u64>),
    /// The end of an interrupt, exception or system call.
    Far,
    /// This level was left, so nothing on it is open any more.
    Left,
}

/// A call from entry to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    pub(super) entry: Entry,
    pub(super) stop: Tsc,
}

/// Open calls of one thread at one privilege level.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    frames: VecDeque<Frame>,
    /// In order of time, with the time at which the caller went on.
    foreign: Vec<(Foreign, Tsc)>,
    pub(super) finished: Vec<Finished>,
    /// Entries whose frames were dropped without a return of their own.
    pub(super) unfinished: u64,
    /// How the last block ended and where its last instruction lies; `None` where nothing is known.
    last: Option<(BlockEnd, u64)>,
    /// The newest frame was pushed by the block before the last one, or there are only jumps between the two.
    fresh_call: bool,
}

impl Stack {
    /// A block begins at `ip`; `wanted` where that is an entry of a wanted function.
    pub(super) fn begin_block(&mut self, ip: u64, wanted: bool, at: Tsc) {
        let is_fresh = match self.last {
            Some((BlockEnd::Call, _)) => true,
            Some((BlockEnd::Jump, _)) => self.fresh_call,
            _ => false,
        };
        self.arrive(ip, at);
        self.fresh_call = is_fresh;
        if wanted {
            self.enter(at);
        }
    }

    /// What the last block ended with led to `ip`, where a block begins or execution was interrupted.
    pub(super) fn arrive(&mut self, ip: u64, at: Tsc) {
        match self.last.take() {
            Some((BlockEnd::Call, call_ip)) => {
                self.push(Frame { caller: Caller::Near(call_ip), entry: None });
            }
            Some((BlockEnd::Return, _)) => self.returned(Some(ip), at),
            Some((BlockEnd::FarReturn, _)) => self.far_returned(at),
            _ => {}
        }
    }

    /// The block ends with the instruction at `ip`.
    pub(super) fn end_block(&mut self, end: BlockEnd, ip: u64) {
        self.last = Some((end, ip));
    }

    /// A call was made that returns to `address`.
    pub(super) fn called(&mut self, address: u64) {
        self.push(Frame { caller: Caller::Before(address), entry: None });
    }

    /// An interrupt, exception or system call leads here.
    pub(super) fn far_entry(&mut self, at: Tsc) {
        self.end_far_return(at);
        self.last = None;
        self.push(Frame { caller: Caller::Far, entry: None });
    }

    /// Nothing more is known after `at`. What the last block ended is over, though not known when: a function that began with it has no end.
    pub(super) fn end(&mut self, at: Tsc) {
        if !matches!(self.last, Some((BlockEnd::FarReturn, _))) {
            return;
        }
        let Some(far) = self.frames.iter().rposition(|frame| frame.caller == Caller::Far) else {
            return self.remember(Foreign::Far, at);
        };
        while self.frames.len() > far
            && let Some(frame) = self.frames.pop_back()
        {
            self.drop_frame(frame);
        }
    }

    /// An interrupt, exception or system call that the last block ended has ended.
    pub(super) fn end_far_return(&mut self, at: Tsc) {
        if let Some((BlockEnd::FarReturn, _)) = self.last {
            self.last = None;
            self.far_returned(at);
        }
    }

    /// Another level runs on: nothing on this one is open any more.
    pub(super) fn leave(&mut self, at: Tsc) {
        self.end_far_return(at);
        self.last = None;
        while let Some(frame) = self.frames.pop_back() {
            self.drop_frame(frame);
        }
        self.remember(Foreign::Left, at);
    }

    /// Tracing stopped; `ip` is where execution went, where known.
    pub(super) fn disabled(&mut self, ip: Option<u64>, at: Tsc) {
        match self.last {
            Some((BlockEnd::Return, _)) => self.returned(ip, at),
            Some((BlockEnd::FarReturn, _)) => self.far_returned(at),
            _ => return,
        }
        self.last = None;
    }

    /// Tracing begins somewhere else than it stopped.
    pub(super) fn enabled_elsewhere(&mut self) {
        self.last = None;
    }

    /// Trace was lost: what follows may not continue what came before.
    pub(super) fn gap(&mut self) {
        self.last = None;
        for entry in self.frames.iter_mut().filter_map(|frame| frame.entry.as_mut()) {
            entry.crossed_gap = true;
        }
    }

    /// Takes the frames that are still open, outermost first.
    pub(super) fn into_frames(self) -> VecDeque<Frame> {
        self.frames
    }

    /// What a later stretch of the same thread adds to these frames: first its returns to them, then its own frames.
    pub(super) fn continue_with(&mut self, mut later: Stack, gap: bool) {
        if gap {
            self.gap();
        }
        for (foreign, at) in std::mem::take(&mut later.foreign) {
            match foreign {
                Foreign::Near(target) => self.returned(target, at),
                Foreign::Far => self.far_returned(at),
                Foreign::Left => self.leave(at),
            }
        }
        // No open call explains these.
        self.foreign.clear();
        self.finished.append(&mut later.finished);
        self.unfinished += later.unfinished;
        for frame in later.into_frames() {
            self.push(frame);
        }
    }

    fn push(&mut self, frame: Frame) {
        if self.frames.len() >= DEEPEST
            && let Some(oldest) = self.frames.pop_front()
        {
            self.drop_frame(oldest);
        }
        self.frames.push_back(frame);
    }

    /// A wanted function begins in the newest frame, called or jumped to (tail call). A function that is already open in
    /// this very frame went back to its first instruction.
    pub(super) fn enter(&mut self, start: Tsc) {
        if self.frames.is_empty() {
            self.push(Frame { caller: Caller::Unknown, entry: None });
        }
        if let Some(frame) = self.frames.back_mut() {
            frame.entry = frame.entry.or(Some(Entry { start, crossed_gap: false }));
        }
    }

    /// A near return led to `target`.
    pub(super) fn returned(&mut self, target: Option<u64>, at: Tsc) {
        let explains = |frame: &Frame| match (frame.caller, target) {
            (Caller::Near(call), Some(target)) => {
                target.checked_sub(call).is_some_and(|bytes| (1..=LONGEST_CALL).contains(&bytes))
            }
            (Caller::Before(address), Some(target)) => target == address,
            (Caller::Near(_) | Caller::Before(_) | Caller::Unknown, None) | (Caller::Unknown, Some(_)) => {
                true
            }
            (Caller::Far, _) => false,
        };
        // No return leads over an interrupt's frame.
        let reachable = self.frames.iter().rev().take_while(|frame| frame.caller != Caller::Far);
        let Some(above) = reachable.clone().position(explains) else {
            return self.unexplained_return(target, at);
        };
        for _ in 0..above {
            if let Some(stale) = self.frames.pop_back() {
                self.drop_frame(stale);
            }
        }
        if let Some(frame) = self.frames.pop_back() {
            self.finish(frame, at);
        }
    }

    /// A return used as a jump (a retpoline directly after its own call), or one to a caller from before this stretch.
    fn unexplained_return(&mut self, target: Option<u64>, at: Tsc) {
        if self.fresh_call {
            if let Some(frame) = self.frames.pop_back() {
                self.drop_frame(frame);
            }
        } else {
            self.remember(Foreign::Near(target), at);
        }
    }

    /// An interrupt, exception or system call ended. Where tracing began inside of it, its frame is the outermost one.
    fn far_returned(&mut self, at: Tsc) {
        while let Some(frame) = self.frames.pop_back() {
            let outermost = frame.caller == Caller::Unknown && self.frames.is_empty();
            if frame.caller == Caller::Far || outermost {
                return self.finish(frame, at);
            }
            self.drop_frame(frame);
        }
        self.remember(Foreign::Far, at);
    }

    fn remember(&mut self, foreign: Foreign, at: Tsc) {
        let repeated =
            foreign == Foreign::Left && self.foreign.last().is_some_and(|last| last.0 == Foreign::Left);
        if self.foreign.len() < MOST_RETURNS && !repeated {
            self.foreign.push((foreign, at));
        }
    }

    fn finish(&mut self, frame: Frame, stop: Tsc) {
        if let Some(entry) = frame.entry {
            self.finished.push(Finished { entry, stop });
        }
    }

    fn drop_frame(&mut self, frame: Frame) {
        self.unfinished += u64::from(frame.entry.is_some());
    }
}
