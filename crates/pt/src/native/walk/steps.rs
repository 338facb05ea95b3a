//! Blocks while bits or a target come next.
//!
//! ```text
//! TNT 3 bits   block ─1→ block ─0→ block ─1→ block ... the next cue is requested when the last bit is used
//! TIP          block ─→ direct jumps and calls ─→ block with an indirect branch ─→ the target
//! ```
//!
//! A TNT's time is that of its first branch: given after the block that takes it, or, where the TNT before is used up
//! and had its time, before that block, which then began between the two. Source: Intel SDM vol. 3, "Intel Processor
//! Trace", "TNT Packet", "Deferred TIPs", "Indirect Transfer Compression for Returns (RETs)".

use super::{Open, Stop, Walk};
use crate::emit;
use crate::flow::{BlockEnd, GapReason};
use crate::native::blocks::{Block, Exit, Hop, LOOSE, NONE, Turn};
use crate::native::cues::Next;
use crate::native::returns::Return;

/// Most instructions given as one block.
const MOST_INSTRUCTIONS: u32 = u16::MAX as u32;

/// What leaving a block took.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// No packet.
    Nothing,
    /// A bit of a TNT.
    Bit,
    /// A TIP, that is at hand still.
    Target,
    /// A TIP that was deferred until after a TNT that is not used up.
    Deferred,
}

/// What ran up to a branch that took a packet.
pub(super) enum Ran {
    /// A block, or the last one of a hop whose others were given.
    Block(Block),
    /// The hop with this number, of which only the sum is wanted.
    Hop(u32, Hop),
}

impl Ran {
    /// Whether its branch is of those that take a bit.
    #[inline]
    fn by_bit(&self) -> bool {
        match self {
            Ran::Block(block) => matches!(block.exit, Exit::Branch | Exit::Return),
            Ran::Hop(_, hop) => matches!(hop.turn, Turn::Branch | Turn::Return),
        }
    }
}

/// Whether the block with this number stays what it is.
fn is_kept(number: u32) -> bool {
    number != NONE && number != LOOSE
}

/// Where the call at the end of `block` returns to.
#[inline]
pub(super) fn back_to(number: u32, block: &Block) -> Return {
    if is_kept(number) {
        Return { address: block.next, block: block.next_link, call: number }
    } else {
        Return { address: block.next, block: NONE, call: NONE }
    }
}

impl Walk<'_> {
    /// Follows bits and targets until something else comes next.
    pub(super) fn follow(&mut self) -> Result<(), Stop> {
        if !self.on {
            return Err(self.mismatch(self.ip, "branches while tracing is off"));
        }
        self.leave_tail()?;
        while self.has_turn() {
            if self.spelled.is_none() {
                self.ride()?;
            }
            if self.has_turn() {
                self.step_block()?;
            }
        }
        Ok(())
    }

    /// Whether the next cue is for a branch.
    #[inline]
    pub(super) fn has_turn(&self) -> bool {
        matches!(self.next, Next::Bits { .. } | Next::Target(_))
    }

    /// Follows one block.
    fn step_block(&mut self) -> Result<(), Stop> {
        let number = self.standing()?;
        let block = *self.map.block(number);
        match self.leave(number, &block) {
            Ok(Took::Nothing) => {
                self.emit(&block)?;
                self.check_endless(&block)
            }
            Ok(took) => {
                self.after(&Ran::Block(block), took)?;
                if self.spelled.is_some() { self.give_payload() } else { Ok(()) }
            }
            Err(stop) => {
                self.emit(&block)?;
                Err(stop)
            }
        }
    }

    /// No packet follows: what needs none still ran.
    pub(super) fn run_out(&mut self) -> Result<(), Stop> {
        loop {
            if !self.on || self.leave_tail().is_err() {
                return Err(Stop::End);
            }
            let Ok(number) = self.standing() else { return Err(Stop::End) };
            let block = *self.map.block(number);
            let left = self.leave(number, &block);
            self.emit(&block)?;
            if left.is_err() {
                return Err(Stop::End);
            }
            self.check_endless(&block)?;
        }
    }

    /// Leaves the instruction that packets were bound to.
    pub(super) fn leave_tail(&mut self) -> Result<(), Stop> {
        let Some(tail) = self.tail.take() else { return Ok(()) };
        match self.leave(NONE, &tail.part.block)? {
            Took::Nothing | Took::Deferred => {}
            Took::Bit => {
                if let Next::Bits { left: 0, .. } = self.next {
                    self.fetch();
                }
            }
            Took::Target => {
                if self.reading != self.ticked {
                    self.tick(false)?;
                }
                self.fetch();
            }
        }
        Ok(())
    }

    /// Moves execution to where it goes from the end of `block`.
    #[inline]
    pub(super) fn leave(&mut self, number: u32, block: &Block) -> Result<Took, Stop> {
        match block.exit {
            Exit::Branch => {
                let Next::Bits { taken, left } = &mut self.next else {
                    return Err(self.mismatch(block.next, "a branch without a bit"));
                };
                *left -= 1;
                let taken = *taken >> *left & 1 != 0;
                if self.spelled.is_some() {
                    self.spell(block, taken);
                }
                self.go(number, block, taken);
                return Ok(Took::Bit);
            }
            Exit::Long | Exit::Border => self.go(number, block, false),
            Exit::Jump => self.go(number, block, true),
            Exit::OverMark => {
                self.begin_payload(block);
                self.go(number, block, true);
            }
            Exit::Call => {
                if block.leaves_address() {
                    self.returns.push(back_to(number, block));
                }
                self.go(number, block, true);
            }
            Exit::Return => return self.leave_by_return(block),
            Exit::IndirectCall => {
                self.returns.push(back_to(number, block));
                return self.take_target(block);
            }
            Exit::Indirect | Exit::Far => return self.take_target(block),
        }
        Ok(Took::Nothing)
    }

    #[inline]
    fn go(&mut self, number: u32, block: &Block, taken: bool) {
        (self.ip, self.block) = block.way(taken);
        if self.block == NONE {
            self.from = is_kept(number).then_some((number, taken));
        }
    }

    fn leave_by_return(&mut self, block: &Block) -> Result<Took, Stop> {
        let Next::Bits { taken, left } = &mut self.next else { return self.take_target(block) };
        *left -= 1;
        if *taken >> *left & 1 == 0 {
            return Err(self.mismatch(block.next, "a return that is not taken"));
        }
        let Some(entry) = self.returns.pop() else {
            return Err(self.mismatch(block.next, "a compressed return without its call"));
        };
        self.return_to(entry);
        Ok(Took::Bit)
    }

    /// A compressed return leads to `entry`.
    #[inline]
    pub(super) fn return_to(&mut self, entry: Return) {
        (self.ip, self.block) = (entry.address, entry.block);
        self.from = (entry.block == NONE && entry.call != NONE).then_some((entry.call, false));
    }

    fn take_target(&mut self, block: &Block) -> Result<Took, Stop> {
        match self.next {
            Next::Target(Some(ip)) => {
                self.jump(ip);
                Ok(Took::Target)
            }
            Next::Bits { .. } => {
                let Some(ip) = self.cues.deferred_target() else {
                    return Err(self.mismatch(block.next, "an indirect branch without its target"));
                };
                self.at = self.cues.at();
                self.jump(ip);
                Ok(Took::Deferred)
            }
            _ => Err(self.mismatch(block.next, "an indirect branch without its target")),
        }
    }

    /// Gives what ran up to a branch that took a packet, and the time of the packets.
    #[inline]
    pub(super) fn after(&mut self, ran: &Ran, took: Took) -> Result<(), Stop> {
        let by_bit = ran.by_bit();
        self.unbroken.end();
        if took == Took::Target && self.reading != self.ticked {
            self.give_ran(ran)?;
            self.tick(false)?;
            self.fetch();
            return Ok(());
        }
        let mut fetched = false;
        if took == Took::Target {
            self.fetch();
            fetched = true;
        }
        let mut due = false;
        while let Next::Bits { left, .. } = self.next {
            due = by_bit && self.reading != self.ticked;
            if due || left > 0 {
                break;
            }
            self.fetch();
            fetched = true;
        }
        self.give_ran(ran)?;
        if by_bit {
            self.emitter.arrive();
        }
        if due {
            self.tick(fetched)?;
            if let Next::Bits { left: 0, .. } = self.next {
                self.fetch();
            }
        }
        Ok(())
    }

    #[inline]
    fn give_ran(&mut self, ran: &Ran) -> Result<(), Stop> {
        match ran {
            Ran::Block(block) => self.emit(block),
            Ran::Hop(number, hop) => self.add(*number, u64::from(hop.instructions)),
        }
    }

    /// So many instructions ran of which only the sum is wanted, the last of them in hop `last`.
    #[inline]
    pub(super) fn add(&mut self, last: u32, instructions: u64) -> Result<(), Stop> {
        self.may_switch = self.map.hops()[last as usize].kernel;
        if self.emitter.wants_calls() {
            self.pass_around(last, instructions);
        } else {
            self.emitter.add(instructions);
        }
        self.check_limit()
    }

    #[inline]
    fn check_limit(&mut self) -> Result<(), Stop> {
        if self.emitter.stats.instructions >= self.limits.instructions {
            self.emitter.stats.limited = true;
            return Err(Stop::Done);
        }
        Ok(())
    }

    /// The time of the cue at hand is now. With `ahead` its branch is yet to come.
    pub(super) fn tick(&mut self, ahead: bool) -> Result<(), Stop> {
        self.emitter.arrive();
        let before = self.emitter.now();
        self.ticked = self.reading;
        let settling = self.settling;
        self.settle();
        if ahead && !settling {
            self.emitter.read_ahead(before);
        }
        if self.emitter.done() { Err(Stop::Done) } else { Ok(()) }
    }

    /// Gives a block, or keeps it until the one that goes on from it.
    #[inline]
    pub(super) fn emit(&mut self, block: &Block) -> Result<(), Stop> {
        let front = self.open.take();
        let ip = front.map_or(block.ip, |front| front.ip);
        let instructions = front.map_or(0, |front| front.instructions) + u32::from(block.instructions);
        if block.exit == Exit::Long && instructions < MOST_INSTRUCTIONS - u32::from(u8::MAX) {
            self.open = Some(Open { ip, end_ip: block.end_ip, instructions });
            return Ok(());
        }
        self.give(&Open { ip, end_ip: block.end_ip, instructions }, block.end, block.next);
        self.check_limit()
    }

    /// Gives what is kept.
    pub(super) fn flush_open(&mut self) {
        if let Some(open) = self.open.take() {
            self.give(&open, BlockEnd::FallThrough, 0);
        }
    }

    /// Gives what ran up to an end, after which `next` comes in memory.
    #[inline]
    fn give(&mut self, open: &Open, end: BlockEnd, next: u64) {
        self.may_switch = open.ip >> 63 != 0;
        let ran = self.ran(open, end);
        if self.emitter.wants_calls() {
            self.give_around(ran, next);
        } else {
            self.emitter.ran(ran);
        }
    }

    #[inline]
    fn ran(&self, open: &Open, end: BlockEnd) -> emit::Ran {
        emit::Ran {
            ip: open.ip,
            end_ip: open.end_ip,
            instructions: open.instructions,
            end,
            bits: self.bits,
            aux_offset: self.at,
        }
    }

    /// Whether `block`, which needed no packet, is part of a loop that will never need one.
    #[inline]
    pub(super) fn check_endless(&mut self, block: &Block) -> Result<(), Stop> {
        #[allow(clippy::cast_possible_truncation, reason = "a mark to compare with")]
        let packet = self.at as usize;
        let ran = (block.ip, u32::from(block.instructions));
        if self.unbroken.goes_on(packet, ran, false, self.limits.silent_instructions) {
            return Err(Stop::Fault(GapReason::EndlessLoop { ip: block.end_ip }));
        }
        Ok(())
    }
}
