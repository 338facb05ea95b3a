//! What one virtual CPU executed, step by step, in the guest's time.
//!
//! Input: its log and the blocks. Output: steps in the order of execution; times are guest TSC and never run backwards.
//! A block that was begun did not always run to its end: where the next block, or the address that an interrupt saved, lies inside
//! it, only the instructions before that address retired. (So does an interrupted or repeating string instruction: the emulator
//! begins a block with it anew for each round; only the last round retires.)
//! Invariant: each step follows from the one before; a log in which one does not is refused.

use std::collections::VecDeque;

use super::block::{Block, Blocks, EntryPoint, EntryPoints, leads_to};
use super::clock::GuestClock;
use super::log::{Entries, Entry, Log, StallKind};
use crate::error::Error;
use crate::instruction::{Class, Instruction};

/// Something that happened, and when (guest TSC).
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) tsc: u64,
    pub(super) event: Event<'a>,
}

/// What can happen on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event<'a> {
    /// The log begins before the instruction at `ip`.
    Begin {
        ip: u64,
    },
    /// Execution reaches a block's first instruction.
    Block {
        ip: u64,
    },
    /// These retired, one after the other, since `began`.
    Ran {
        instructions: &'a [Instruction],
        began: u64,
    },
    /// `instruction`, the last of those that ran, handed control to `to`.
    Branch {
        instruction: &'a Instruction,
        to: u64,
    },
    Interrupt {
        from: u64,
        to: u64,
        entry: &'a EntryPoint,
    },
    PageTable(u64),
    PtWrite {
        ip: u64,
        value: u64,
    },
    /// The CPU halts; `ip` is what comes after the `hlt`; `state` is the machine model's, 0 where there is none.
    Idle {
        ip: u64,
        state: u8,
    },
    Resume,
    /// The CPU was stalled since `from` because the machine model says so.
    Stall {
        kind: StallKind,
        from: u64,
        detail: u64,
    },
    /// A core:bus ratio was requested for `cpu`.
    Request {
        cpu: u32,
        ratio: u8,
        by_governor: bool,
    },
    /// The log ends before the instruction at `ip`.
    End {
        ip: u64,
    },
}

/// Where the CPU stands.
#[derive(Clone, Copy, Debug)]
enum LogPosition<'a> {
    /// Nothing was logged yet.
    Before,
    /// In this block since then.
    In(&'a Block, u64),
    /// Halted; this address comes next.
    Halted(u64),
    /// Interrupted; the entry at this address comes next.
    Entering(u64),
    /// The log has ended.
    Behind,
}

/// The steps of one CPU.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    log: &'a Log,
    entries: Entries<'a>,
    blocks: &'a Blocks,
    entry_points: &'a EntryPoints,
    clock: GuestClock,
    place: LogPosition<'a>,
    now: u64,
    ready: VecDeque<Step<'a>>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(
        log: &'a Log,
        blocks: &'a Blocks,
        entry_points: &'a EntryPoints,
        clock: GuestClock,
    ) -> Flow<'a> {
        let entries = log.entries();
        let (place, ready) = (LogPosition::Before, VecDeque::new());
        Flow { log, entries, blocks, entry_points, clock, place, now: 0, ready }
    }

    /// The next step; `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Capture`] with the place in the log, where something follows that cannot.
    pub(super) fn next(&mut self) -> Result<Option<Step<'a>>, Error> {
        while self.ready.is_empty() {
            let Some(entry) = self.entries.next() else { return Ok(None) };
            self.take(entry)?;
        }
        Ok(self.ready.pop_front())
    }

    fn take(&mut self, entry: Entry) -> Result<(), Error> {
        match (entry, self.place) {
            (Entry::Block { number, at }, _) => self.enter_block(number, at),
            (Entry::Interrupt { .. } | Entry::PtWrite { .. }, LogPosition::Before) => Ok(()),
            (Entry::Interrupt { from, entry, at }, _) => self.interrupt(from, entry, at),
            (Entry::PtWrite { ip, value, at }, _) => {
                self.push(at, Event::PtWrite { ip, value });
                Ok(())
            }
            (Entry::PageTable(cr3), _) => {
                self.ready.push_back(Step { tsc: self.now, event: Event::PageTable(cr3) });
                Ok(())
            }
            (Entry::Idle { at, state }, LogPosition::In(block, _)) if block.halts => {
                let ip = block.last().map_or(0, Instruction::next);
                self.leave_block(block.instructions.len(), ip, at);
                self.push(at, Event::Idle { ip, state });
                self.place = LogPosition::Halted(ip);
                Ok(())
            }
            (Entry::Resume(at), LogPosition::Halted(_)) => {
                self.push(at, Event::Resume);
                Ok(())
            }
            (Entry::End(at), _) => {
                self.end(at);
                Ok(())
            }
            (Entry::Stall { kind, from, to, detail }, _) => {
                let from = self.clock.guest(from).max(self.now);
                self.push(to, Event::Stall { kind, from, detail });
                Ok(())
            }
            (Entry::Request { cpu, ratio, by_governor, at }, _) => {
                self.push(at, Event::Request { cpu, ratio, by_governor });
                Ok(())
            }
            (Entry::Clock { .. } | Entry::Idle { .. } | Entry::Resume(_), _) => Ok(()),
        }
    }

    fn push(&mut self, at: u64, event: Event<'a>) {
        self.now = self.now.max(self.clock.guest(at));
        self.ready.push_back(Step { tsc: self.now, event });
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(self.log.wrong(self.entries.next, what))
    }

    fn enter_block(&mut self, number: usize, at: u64) -> Result<(), Error> {
        let Some(block) = self.blocks.get(number) else { return self.wrong("a block that blocks.bin lacks") };
        let ip = block.address();
        match self.place {
            LogPosition::Before => self.push(at, Event::Begin { ip }),
            LogPosition::In(left, _) => {
                let Some(ran) = ran_before_block(left, ip) else {
                    return self.wrong("a block that cannot follow the one before it");
                };
                self.leave_block(ran, ip, at);
            }
            LogPosition::Halted(next) | LogPosition::Entering(next) if next == ip => {}
            LogPosition::Halted(_) => return self.wrong("a halted CPU goes on elsewhere"),
            LogPosition::Entering(_) => return self.wrong("an interrupt whose entry does not run"),
            LogPosition::Behind => return self.wrong("a block after the log's end"),
        }
        self.push(at, Event::Block { ip });
        self.place = LogPosition::In(block, self.now);
        Ok(())
    }

    fn interrupt(&mut self, saved: u64, entry: u64, at: u64) -> Result<(), Error> {
        let Some(point) = self.entry_points.get(&entry) else {
            return self.wrong("an interrupt whose entry the list of entries lacks");
        };
        let from = match self.place {
            LogPosition::In(block, _) => {
                let Some((ran, from)) = ran_before_interrupt(block, saved, point.is_fault) else {
                    return self.wrong("an interrupt that cannot follow the block before it");
                };
                self.leave_block(ran, from, at);
                from
            }
            LogPosition::Halted(next) if next == saved => saved,
            _ => return self.wrong("an interrupt where none can be"),
        };
        self.push(at, Event::Interrupt { from, to: entry, entry: point });
        self.place = LogPosition::Entering(entry);
        Ok(())
    }

    /// The current block's first `ran` instructions retired; `next` comes then.
    fn leave_block(&mut self, ran: usize, next: u64, at: u64) {
        let LogPosition::In(block, began) = self.place else { return };
        if ran == 0 {
            return;
        }
        self.push(at, Event::Ran { instructions: &block.instructions[..ran], began });
        if let Some(instruction) = block.last().filter(|_| ran == block.instructions.len()) {
            self.push(at, Event::Branch { instruction, to: next });
        }
    }

    fn end(&mut self, at: u64) {
        let ip = match self.place {
            LogPosition::In(block, _) => block.address(),
            LogPosition::Halted(ip) | LogPosition::Entering(ip) => ip,
            LogPosition::Before | LogPosition::Behind => return,
        };
        self.push(at, Event::End { ip });
        self.place = LogPosition::Behind;
    }
}

/// How many instructions of `block` retired if a block at `next` began after it.
fn ran_before_block(block: &Block, next: u64) -> Option<usize> {
    let last = block.last()?;
    // A software interrupt goes through an entry, never straight on.
    let ran_all = leads_to(last, next) && last.class != Class::SoftwareInterrupt;
    if ran_all { Some(block.instructions.len()) } else { block.before(next) }
}

/// How many instructions of `block` retired before an interrupt that saved the address `saved`, and where it hit.
fn ran_before_interrupt(block: &Block, saved: u64, is_fault: bool) -> Option<(usize, u64)> {
    let (all, last) = (block.instructions.len(), block.last()?);
    if last.class == Class::SoftwareInterrupt && saved == last.next() {
        // It saves the address after itself; in PT it is a FUP with its own address, and does not retire.
        return Some((all - 1, last.ip));
    }
    let inside = block.before(saved);
    let behind = leads_to(last, saved).then_some(all);
    let ran = if is_fault { inside.or(behind) } else { behind.or(inside) };
    ran.map(|ran| (ran, saved))
}
