//! The way to an event's place: blocks that need no packet, the last one cut where the event is.
//!
//! ```text
//! PTW, FUP 1008     |1000 mov|1003 jmp| → |1006 nop|1008 ptwrite|  ✂  PTWRITE  |100c ...
//! FUP 1006, TIP     |1000 mov|1003 jmp| →  ✂  interrupt at 1006
//! ```
//!
//! A branch on the way that would need a packet means that trace and code disagree; but where tracing ends, it is the
//! place. Source: Intel SDM vol. 3, "Intel Processor Trace", "FUP Packet", "TIP.PGD Packet", "PTWRITE Packet".

use super::{Stop, Tail, Walk};
use crate::flow::{BlockEnd, EventKind};
use crate::native::blocks::{Block, CodeMap, Exit, Wanted};
use crate::native::cues::{Event, Place, What};

/// Most instructions looked at ahead: libipt takes as many for a wrong branch before an abort.
const MOST_AHEAD: u16 = 256;

/// How a way ended.
enum Way {
    /// Before or after the instruction looked for.
    Found,
    /// At the end of this block, given already, which needs a packet.
    Blocked(Block),
}

impl Walk<'_> {
    /// Walks to the place of `event`.
    pub(super) fn reach(&mut self, event: &Event) -> Result<(), Stop> {
        if !self.on {
            self.tail = None;
            return Ok(());
        }
        match event.place {
            Place::Here => self.leave_tail(),
            Place::After(wanted) if self.binds_again(wanted) => Ok(()),
            Place::Before(_) | Place::After(_) => {
                self.leave_tail()?;
                if self.errata.wrong_branch_before_abort {
                    self.correct_branch(event);
                }
                self.find_or_fail(event.place)?;
                match event.what {
                    What::BrokenOff { .. } => self.guest_entry().map_or(Ok(()), |entry| self.emit(&entry)),
                    _ => Ok(()),
                }
            }
            Place::LastBranch(to) => self.reach_last_branch(to),
        }
    }

    /// Whether another packet, which names no address, binds to the same instruction as the one before.
    fn binds_again(&mut self, wanted: Wanted) -> bool {
        let Some(tail) = &mut self.tail else { return false };
        let again = !tail.bound.contains(&wanted) && tail.part.ends_with(wanted);
        if again && !matches!(wanted, Wanted::With(_)) {
            tail.bound.push(wanted);
            return true;
        }
        false
    }

    pub(super) fn find_or_fail(&mut self, place: Place) -> Result<(), Stop> {
        let wanted = match place {
            Place::Before(ip) => Wanted::Before(ip),
            Place::After(wanted) => wanted,
            Place::Here | Place::LastBranch(_) => return Ok(()),
        };
        match self.find(wanted)? {
            Way::Found => Ok(()),
            Way::Blocked(block) => Err(self.mismatch(block.next, "a branch before the place of an event")),
        }
    }

    /// A transaction aborts that was not where its last branch led, by the packet (BDM64): the branch led to the abort.
    fn correct_branch(&mut self, event: &Event) {
        let What::Flow([Some(EventKind::Transaction { aborted: true, .. }), ..]) = event.what else { return };
        let Place::Before(ip) = event.place else { return };
        let branched = self.emitter.stats.instructions > self.delivered;
        if branched && !self.leads_to(ip) {
            self.jump(ip);
        }
    }

    /// The VM entry here, where the CPU's FUP before it does not mean that something interrupted it (SKD022): it has run, and ends tracing.
    pub(super) fn guest_entry(&mut self) -> Option<Block> {
        let number = if self.errata.fup_at_vm_entry { self.standing().ok()? } else { return None };
        let entry = self.map.prefix(number, Wanted::VmEntry)?;
        (entry.block.instructions == 1).then_some(entry.block)
    }

    /// Where tracing ends synchronously.
    fn reach_last_branch(&mut self, to: Option<u64>) -> Result<(), Stop> {
        let mut tail = self.tail.take();
        loop {
            if let Some(tail) = tail {
                let block = tail.part.block;
                let switches = to.is_none() && tail.part.ends_with(Wanted::Cr3);
                if switches && !self.leads_far(block.next) {
                    return Ok(());
                }
                if needs_packet(&block) {
                    self.expect_return_from(&block);
                    return Ok(());
                }
                self.leave(crate::native::blocks::NONE, &block)?;
            }
            match self.find(to.map_or(Wanted::Cr3, Wanted::Before))? {
                Way::Found if to.is_some() => return Ok(()),
                Way::Found => tail = self.tail.take(),
                Way::Blocked(block) => {
                    self.expect_return_from(&block);
                    return Ok(());
                }
            }
        }
    }

    /// Whether the first branch from `ip` on that needs a packet is a far transfer. Then that is what ended tracing, and
    /// no MOV CR3 before it: the kernel goes to the page table of the user before it returns there.
    fn leads_far(&mut self, ip: u64) -> bool {
        self.looks_ahead(ip, |_, _, block| needs_packet(block).then_some(block.exit == Exit::Far))
    }

    /// Whether execution comes to `goal` without a packet.
    fn leads_to(&mut self, goal: u64) -> bool {
        self.stand();
        self.looks_ahead(self.ip, |map, number, _| map.prefix(number, Wanted::Before(goal)).map(|_| true))
    }

    /// Goes from block to block, from `ip` on, until `answer` has one, or a packet is needed. Nothing is given, and
    /// execution stays where it is.
    fn looks_ahead(&mut self, mut ip: u64, answer: impl Fn(&CodeMap, u32, &Block) -> Option<bool>) -> bool {
        self.stand();
        self.jump(self.ip);
        let source = self.source();
        let (mut left, mut found) = (MOST_AHEAD, None);
        while let Ok(number) = self.map.at(ip, &source) {
            let block = *self.map.block(number);
            found = answer(self.map, number, &block);
            left = left.saturating_sub(block.instructions);
            if found.is_some() || left == 0 || needs_packet(&block) {
                break;
            }
            (ip, _) = block.way(!matches!(block.exit, Exit::Long | Exit::Border));
        }
        self.numbers_went();
        found.unwrap_or(false)
    }

    /// Tracing ended at the branch of `block`: after a call it may begin again where that returns to.
    fn expect_return_from(&mut self, block: &Block) {
        let is_call = matches!(block.end, BlockEnd::Call | BlockEnd::FarCall);
        self.jump(if is_call { block.next } else { 0 });
    }

    /// Walks, without packets, to what is wanted.
    fn find(&mut self, wanted: Wanted) -> Result<Way, Stop> {
        loop {
            if wanted == Wanted::Before(self.ip) {
                self.flush_open();
                return Ok(Way::Found);
            }
            let number = self.standing()?;
            let block = *self.map.block(number);
            if let Some(part) = self.map.prefix(number, wanted) {
                self.emit(&part.block)?;
                if let Wanted::Before(ip) = wanted {
                    self.jump(ip);
                } else {
                    self.jump(part.block.end_ip);
                    self.tail = Some(Tail { part, bound: vec![wanted] });
                }
                return Ok(Way::Found);
            }
            if needs_packet(&block) {
                self.emit(&block)?;
                return Ok(Way::Blocked(block));
            }
            self.leave(number, &block)?;
            self.emit(&block)?;
            self.check_endless(&block)?;
        }
    }
}

fn needs_packet(block: &Block) -> bool {
    !matches!(block.exit, Exit::Long | Exit::Border | Exit::Jump | Exit::OverMark | Exit::Call)
}
