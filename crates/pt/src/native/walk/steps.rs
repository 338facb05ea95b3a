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
use crate::flow::{Block as FlowBlock, BlockEnd, GapReason};
use crate::native::blocks::{Block, Exit, LOOSE, NONE};
use crate::native::cues::Next;

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

impl Walk<'_> {
    /// Follows bits and targets until something else comes next.
    pub(super) fn follow(&mut self) -> Result<(), Stop> {
        if !self.on {
            return Err(self.mismatch(self.ip, "branches while tracing is off"));
        }
        self.leave_tail()?;
        while let Next::Bits { .. } | Next::Target(_) = self.next {
            let number = self.standing()?;
            let block = *self.map.block(number);
            match self.leave(number, &block) {
                Ok(Took::Nothing) => {
                    self.emit(&block)?;
                    self.check_endless(&block)?;
                }
                Ok(took) => self.after(&block, took)?,
                Err(stop) => {
                    self.emit(&block)?;
                    return Err(stop);
                }
            }
        }
        Ok(())
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
                self.go(number, block, taken);
                return Ok(Took::Bit);
            }
            Exit::Long | Exit::Border => self.go(number, block, false),
            Exit::Jump => self.go(number, block, true),
            Exit::Call => {
                if block.target != block.next {
                    self.returns.push(block.next);
                }
                self.go(number, block, true);
            }
            Exit::Return => return self.leave_by_return(block),
            Exit::IndirectCall => {
                self.returns.push(block.next);
                return self.take_target(block);
            }
            Exit::Indirect | Exit::Far => return self.take_target(block),
        }
        Ok(Took::Nothing)
    }

    #[inline]
    fn go(&mut self, number: u32, block: &Block, taken: bool) {
        let (ip, link) =
            if taken { (block.target, block.target_link) } else { (block.next, block.next_link) };
        (self.ip, self.block) = (ip, link);
        if link == NONE {
            self.from = (number != NONE && number != LOOSE).then_some((number, taken, self.map.generation()));
        }
    }

    fn leave_by_return(&mut self, block: &Block) -> Result<Took, Stop> {
        let Next::Bits { taken, left } = &mut self.next else { return self.take_target(block) };
        *left -= 1;
        if *taken >> *left & 1 == 0 {
            return Err(self.mismatch(block.next, "a return that is not taken"));
        }
        let Some(ip) = self.returns.pop() else {
            return Err(self.mismatch(block.next, "a compressed return without its call"));
        };
        self.jump(ip);
        Ok(Took::Bit)
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

    /// Gives the block that was left by a packet, and the time of the packets.
    #[inline]
    fn after(&mut self, block: &Block, took: Took) -> Result<(), Stop> {
        let by_bit = matches!(block.exit, Exit::Branch | Exit::Return);
        self.unbroken.end();
        if took == Took::Target && self.reading != self.ticked {
            self.emit(block)?;
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
        self.emit(block)?;
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
        self.give(&Open { ip, end_ip: block.end_ip, instructions }, block.end);
        if self.emitter.stats.instructions >= self.limits.instructions {
            self.emitter.stats.limited = true;
            return Err(Stop::Done);
        }
        Ok(())
    }

    /// Gives what is kept.
    pub(super) fn flush_open(&mut self) {
        if let Some(open) = self.open.take() {
            self.give(&open, BlockEnd::FallThrough);
        }
    }

    #[inline]
    fn give(&mut self, open: &Open, end: BlockEnd) {
        let kernel = open.ip >> 63 != 0;
        self.may_switch = kernel;
        self.emitter.block(&FlowBlock {
            ip: open.ip,
            end_ip: open.end_ip,
            instructions: open.instructions,
            end,
            bits: self.bits,
            kernel,
            thread: self.emitter.thread,
            time: self.emitter.open_time(),
            aux_offset: self.at,
        });
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
