//! Watched calls: all other code is passed hop by hop, as where sums are wanted.
//!
//! ```text
//! hop → hop ──→ block, call ──→ |f: block| ──→ hop → hop ──→ block, ret ──→ |block|
//!                               call, entry                                 return
//! ```
//!
//! No hop has a block that is wanted, so the walk stops at it. Where a function is entered the walk learns where the call returns to, and
//! watches for that from now on.

use super::Walk;
use crate::emit::{self, Past, PastBlocks};
use crate::flow::{BlockEnd, EventKind};
use crate::native::blocks::is_kernel;

impl Walk<'_> {
    /// Takes in a block, after which `next` comes in memory: what it means for watched calls. Blocks that leave for another privilege level
    /// are given.
    #[cold]
    pub(super) fn give_around(&mut self, ran: emit::Ran, next: u64) {
        let Some(watched) = self.map.watched() else { return };
        let kernel = is_kernel(ran.ip);
        let mut past = self.emitter.past(kernel);
        let (is_entry, returned) =
            (watched.is_entry(ran.ip, self.emitter.thread()), watched.returns_to(ran.ip));
        let mut called = self.call_by(past);
        if is_entry {
            let returns_to = past.return_address(ran.ip);
            match self.map.learn_return(returns_to) {
                Some(true) => called = returns_to,
                Some(false) => {}
                None => return self.emitter.break_off(),
            }
        }
        if returned && past.last().is_some_and(|last| last.end == BlockEnd::Return) {
            self.emitter.event(EventKind::WatchedReturn { to: ran.ip }, self.at);
        }
        if let Some(returns_to) = called {
            self.emitter.event(EventKind::WatchedCall { returns_to }, self.at);
        }
        if is_entry {
            self.emitter.event(EventKind::WatchedEntry { ip: ran.ip }, self.at);
        }
        past.add(Past { end: ran.end, next });
        self.emitter.set_past(kernel, past);
        if ran.end.is_far() {
            self.emitter.count(kernel, 0, self.at);
            self.emitter.ran(ran);
        } else {
            self.emitter.count(kernel, u64::from(ran.instructions), self.at);
        }
    }

    /// So many instructions ran, the last of them in hop `last`.
    pub(super) fn pass_around(&mut self, last: u32, instructions: u64) {
        let kernel = self.map.hops()[last as usize].kernel;
        self.make_call(kernel);
        let mut of_hop = 0;
        let mut past = PastBlocks::default();
        for number in self.map.blocks_of(last) {
            let block = self.map.block(number);
            of_hop += u64::from(block.instructions);
            past.add(Past { end: block.end, next: block.next });
        }
        let is_one_hop = of_hop == instructions;
        let past = if is_one_hop { self.emitter.past(kernel).then(&past) } else { past };
        self.emitter.set_past(kernel, past);
        self.emitter.count(kernel, instructions, self.at);
    }

    /// What an event means for watched calls.
    pub(super) fn see_event(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::Overflow { .. } => self.emitter.part(),
            EventKind::Enabled { ip, resumed: false } if is_kernel(ip) == self.emitter.in_kernel() => {
                self.emitter.set_past(is_kernel(ip), PastBlocks::default());
            }
            EventKind::AsyncBranch { from, to } if is_kernel(from) == is_kernel(to) => {
                let kernel = is_kernel(from);
                self.make_call(kernel);
                self.make_return(kernel, Some(from));
                self.emitter.set_past(kernel, PastBlocks::default());
            }
            EventKind::Disabled { ip, .. } => self.make_return(self.emitter.in_kernel(), ip),
            _ => {}
        }
    }

    /// Where the call returns to that the last of these blocks made, if it did and that is watched.
    fn call_by(&self, past: PastBlocks) -> Option<u64> {
        let last = past.last()?;
        self.map.watched()?.call_by(last.end, last.next)
    }

    /// The last block of a level made a call, if it is watched.
    fn make_call(&mut self, kernel: bool) {
        if let Some(returns_to) = self.call_by(self.emitter.past(kernel)) {
            self.emitter.event(EventKind::WatchedCall { returns_to }, self.at);
        }
    }

    /// The last block of a level returned to an address that may be known, if it did, and that is watched.
    fn make_return(&mut self, kernel: bool, to: Option<u64>) {
        let returned = self.emitter.past(kernel).last().is_some_and(|last| last.end == BlockEnd::Return);
        if !returned {
            return;
        }
        self.emitter.set_past(kernel, PastBlocks::default());
        match to {
            Some(to) if self.map.watched().is_some_and(|watched| watched.returns_to(to)) => {
                self.emitter.event(EventKind::WatchedReturn { to }, self.at);
            }
            Some(_) => {}
            None => {
                self.map.doubt();
                self.emitter.break_off();
            }
        }
    }
}
