//! Execution, followed through the code by what the packets say.
//!
//! ```text
//!         ┌──── bits or a target next: hop by hop, each branch by its bit (`ride`), or block by block (`steps`)
//! cue ────┼──── an event next: blocks up to its place, without any packet (`places`); then the event (`events`)
//!         └──── nothing next: blocks up to the first branch that would need a packet
//! ```
//!
//! Time moves on at events, and at the first branch of a TNT or the branch of a TIP whose packet comes with a new
//! reading. Source: Intel SDM vol. 3, "Intel Processor Trace", "Change of Flow Instruction (COFI) Tracing", "Decoder
//! Synchronization" and "Packet Ordering".

mod around;
mod events;
mod glide;
mod passing;
mod places;
mod ride;
mod spelled;
mod steps;
mod stride;

use model::CodeBytes;

use super::blocks::{CodeMap, LOOSE, Missing, NONE, Prefix, Source};
use super::cues::{Cues, Next, Wrong};
use super::errata::Errata;
use super::returns::Returns;
use crate::config::{Limits, PtConfig};
use crate::emit::Emitter;
use crate::endless::Unbroken;
use crate::engine::{DecodeStats, Window};
use crate::flow::{EventKind, GapReason};
use crate::presence::Presence;
use crate::sink::FlowSink;
use crate::stream::PtStream;
use crate::sync::SyncPoint;

/// Why a walk ends.
pub(super) enum Stop {
    /// Nothing more is wanted.
    Done,
    /// The sync point not to go beyond was reached.
    Border,
    /// No bytes are left that follow without a hole.
    End,
    /// Something is wrong.
    Fault(GapReason),
}

/// The front of a block that goes on in the next one.
#[derive(Clone, Copy)]
struct Open {
    ip: u64,
    end_ip: u64,
    instructions: u32,
}

/// An instruction to which a packet was bound and others may be: execution did not leave it yet.
struct Tail {
    part: Prefix,
    /// What was bound to it.
    bound: Vec<super::blocks::Wanted>,
}

/// A window's decode in progress.
#[allow(clippy::struct_excessive_bools, reason = "four facts, each of its own")]
pub(super) struct Walk<'w> {
    pub(super) stream: &'w PtStream<'w>,
    pub(super) cues: Cues<'w>,
    pub(super) emitter: Emitter<'w>,
    errata: Errata,
    limits: &'w Limits,
    code: &'w dyn CodeBytes,
    presence: Presence<'w>,
    map: &'w mut CodeMap,
    /// The cue that decides what comes next, where its trace ends, and the clock's reading at it.
    next: Next,
    at: u64,
    reading: Option<u64>,
    /// The reading at the cue before, or at this one once its time was given.
    ticked: Option<u64>,
    /// Whether tracing is on.
    on: bool,
    /// Where execution is; with tracing off, where it may go on. While hops are followed the block says it.
    ip: u64,
    bits: u8,
    mode_known: bool,
    /// The block at `ip`, if known.
    block: u32,
    /// The block that led there, and whether by its branch.
    from: Option<(u32, bool)>,
    /// How often the map was cleared when its numbers were looked at last.
    generation: u64,
    returns: Returns,
    tail: Option<Tail>,
    open: Option<Open>,
    /// The emulated PTWRITE of which some branches were followed.
    spelled: Option<spelled::Spelled>,
    unbroken: Unbroken,
    /// The last thing executed lies in the kernel, or nothing is traced: a thread switch may have happened.
    may_switch: bool,
    /// The PSB that was entered last.
    entered: u64,
    /// A PSB+ was read whose FUP execution has yet to reach: its time and events wait.
    settling: bool,
    held: Vec<(EventKind, u64)>,
    /// How many instructions had run at the last event.
    delivered: u64,
    stop: u64,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        config: &PtConfig,
        limits: &'w Limits,
        map: &'w mut CodeMap,
        window: &Window<'w>,
        start: Option<SyncPoint>,
        code: &'w dyn CodeBytes,
        sink: &'w mut dyn FlowSink,
    ) -> Walk<'w> {
        let at = start.and_then(|start| start.tsc).unwrap_or(window.range.start);
        let emitter = Emitter::new(sink, window.range);
        map.watch(emitter.wants_calls().then(|| emitter.watched()));
        Walk {
            stream: window.stream,
            cues: Cues::new(window.stream, config),
            emitter,
            errata: Errata::of(config),
            limits,
            code,
            presence: Presence::new(window.occupants, code, at),
            map,
            next: Next::End(Wrong::End),
            at: 0,
            reading: None,
            ticked: None,
            on: false,
            ip: 0,
            bits: 64,
            mode_known: false,
            block: NONE,
            from: None,
            generation: 0,
            returns: Returns::new(),
            tail: None,
            open: None,
            spelled: None,
            unbroken: Unbroken::default(),
            may_switch: true,
            entered: 0,
            settling: false,
            held: Vec::new(),
            delivered: 0,
            stop: u64::MAX,
        }
    }

    /// Stands at the sync point at `position`.
    pub(super) fn enter(&mut self, position: u64) {
        self.cues.enter(position);
        self.entered = position;
        self.forget();
        self.mode_known = false;
        self.start();
    }

    /// Goes on after damage, where the packets were passed over up to a TIP.PGE.
    pub(super) fn resume(&mut self) {
        self.forget();
        if let Some(bits) = self.cues.mode_in_bits() {
            (self.bits, self.mode_known) = (bits, true);
        }
        self.start();
    }

    fn forget(&mut self) {
        self.jump(0);
        (self.on, self.tail, self.open, self.spelled) = (false, None, None, None);
        self.settling = false;
        (self.reading, self.ticked) = (None, None);
        self.returns.clear();
        self.unbroken.end();
    }

    fn start(&mut self) {
        self.select();
        self.fetch();
    }

    /// Follows execution until something ends it.
    pub(super) fn run(&mut self, stop: u64) -> Stop {
        self.stop = stop;
        let stop = loop {
            if let Err(stop) = self.step() {
                break stop;
            }
        };
        self.flush_open();
        self.emitter.arrive();
        for (kind, aux_offset) in std::mem::take(&mut self.held) {
            self.emitter.event(kind, aux_offset);
        }
        stop
    }

    fn step(&mut self) -> Result<(), Stop> {
        match self.next {
            Next::Bits { .. } | Next::Target(_) => self.follow(),
            Next::Event => {
                let event = self.cues.event();
                self.reach(&event)?;
                self.deliver(&event)
            }
            Next::End(Wrong::End) => self.run_out(),
            Next::End(Wrong::BadPacket) => Err(Stop::Fault(GapReason::BadPacket)),
            Next::End(Wrong::Context(message)) => Err(self.mismatch(self.ip, message)),
        }
    }

    /// Takes the next cue in hand.
    #[inline]
    fn fetch(&mut self) {
        self.ticked = self.reading;
        self.next = self.cues.next();
        (self.at, self.reading) = match &self.next {
            Next::Event => {
                let event = self.cues.event();
                (event.at, event.reading)
            }
            _ => (self.cues.at(), self.cues.timing.reading()),
        };
    }

    /// Where the trace ends that the next cue needs.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The sync point that the next cue belongs to, if it is not the one entered.
    pub(super) fn pending_sync(&self) -> Option<u64> {
        match self.next {
            Next::Event => self.cues.event().in_sync.filter(|&psb| psb != self.entered),
            _ => None,
        }
    }

    /// Whether nothing more is wanted.
    pub(super) fn is_done(&self) -> bool {
        self.emitter.done()
    }

    /// What the decode did.
    pub(super) fn finish(mut self) -> DecodeStats {
        let (timing, stats) = (&self.cues.timing, &mut self.emitter.stats);
        (stats.ignored_times, stats.first_ignored_time) = (timing.ignored, timing.first_ignored);
        stats.bytes = self.cues.lexer.walked();
        self.emitter.finish(self.map.watched())
    }

    /// Trace and code disagree.
    #[allow(clippy::unused_self, reason = "reads as what it is")]
    fn mismatch(&self, ip: u64, message: &str) -> Stop {
        Stop::Fault(GapReason::Mismatch { ip, message: message.to_owned() })
    }

    /// Reads the code of who is on the CPU now.
    fn select(&mut self) {
        self.stand();
        self.emitter.on(self.presence.thread());
        self.map.select(self.presence.epoch(), self.bits);
        self.generation = self.map.generation();
        (self.block, self.from) = (NONE, None);
        self.returns.forget_blocks();
    }

    fn source(&self) -> Source<'w> {
        Source { code: self.code, pid: self.presence.pid(), at: self.emitter.now(), bits: self.bits }
    }

    /// The number of the block at hand.
    #[inline]
    fn standing(&mut self) -> Result<u32, Stop> {
        if self.block != NONE && self.block != LOOSE {
            return Ok(self.block);
        }
        let source = self.source();
        let from = self.from.take();
        let found = match from {
            Some(_) => self.map.at(self.ip, &source),
            None => self.map.at_target(self.ip, &source),
        };
        self.block = found.map_err(|missing| match missing {
            Missing::NoCode(ip) => Stop::Fault(GapReason::NoCode { ip }),
            Missing::NoInstruction(ip) => self.mismatch(ip, "unknown instruction"),
        })?;
        if self.numbers_went() {
            return Ok(self.block);
        }
        if let Some((from, taken)) = from {
            self.map.link(from, taken, self.block);
        }
        Ok(self.block)
    }

    /// Whether the map was cleared since this was asked last; then numbers from before are forgotten.
    #[inline]
    fn numbers_went(&mut self) -> bool {
        let went = self.generation != self.map.generation();
        if went {
            self.generation = self.map.generation();
            self.from = None;
            self.returns.forget_blocks();
        }
        went
    }

    /// Execution is where the block at hand begins, if it is known.
    #[inline]
    fn stand(&mut self) {
        if self.block != NONE && self.block != LOOSE {
            self.ip = self.map.block(self.block).ip;
        }
    }

    /// Execution is at `ip`, where no block is known.
    #[inline]
    fn jump(&mut self, ip: u64) {
        (self.ip, self.block, self.from) = (ip, NONE, None);
    }

    /// Moves time, thread and code on.
    #[inline]
    fn see_time(&mut self) {
        let timing = &self.cues.timing;
        if let Some(reading) = timing.reading() {
            let time = timing.full(reading);
            self.emitter.time(time);
        }
        let now = self.emitter.now();
        if self.may_switch || self.presence.epoch_ended(now) {
            if self.presence.advance(now) {
                self.select();
            }
            self.emitter.on(self.presence.thread());
        }
    }
}
