//! Instruction by instruction: what each does, and where it leads.

use super::{Filter, Last, Walk};
use crate::packet::Packet;
use crate::random::encoding::Kind;
use crate::random::layout::Spot;
use crate::random::{Beyond, Happened};

impl Walk {
    /// The next instruction.
    pub(super) fn step(&mut self) {
        self.spend();
        let (spot, kind) = (self.at, self.layout.at(self.at).kind());
        if self.in_transaction && self.aborts(kind) {
            return self.abort();
        }
        let ip = self.ip(spot);
        if matches!(kind, Kind::Fault | Kind::SoftwareInterrupt) {
            return self.interruption(
                Some(if kind == Kind::Fault { 6 } else { 3 }),
                kind == Kind::SoftwareInterrupt,
            );
        }
        if kind == Kind::Mwait {
            self.sleep(ip);
        }
        let reported = self.event_type(kind);
        if let Some(kind) = reported {
            let fup = self.dice.percent(50);
            self.encoder.event(self.tsc, Packet::Cfe { kind, vector: 0, fup }, fup.then_some(ip));
        }
        let payload = (kind == Kind::PtWrite && self.ptwrites).then(|| self.ptwrite(ip));
        self.log(Happened::Ran(ip));
        if let Some(kind) = reported {
            self.log(Happened::Reported { kind, vector: 0, ip });
        }
        if let Some(payload) = payload {
            self.log(Happened::Ptwrite { payload, ip });
            self.show();
        }
        match kind {
            Kind::Eretu | Kind::Erets => self.goes_beyond(Beyond::EventReturns),
            Kind::Rsm => self.goes_beyond(Beyond::ReturnsFromSmm),
            _ => {}
        }
        let to = self.successor(spot, kind);
        self.go(spot, kind, to);
    }

    /// What Event Trace says of an instruction of this kind: the type of a control-flow event. Of system calls it speaks
    /// under FRED alone.
    fn event_type(&mut self, kind: Kind) -> Option<u8> {
        match kind {
            _ if !self.settings.event_trace => None,
            Kind::Iret | Kind::Eretu | Kind::Erets => Some(2),
            Kind::VmEntry => Some(7),
            Kind::UserIret => Some(13),
            Kind::Syscall if self.layout.has_event_returns => {
                self.goes_beyond(Beyond::EventsOfFred);
                Some(15)
            }
            _ => None,
        }
    }

    /// Whether a transaction ends before an instruction of this kind.
    fn aborts(&self, kind: Kind) -> bool {
        let near = matches!(
            kind,
            Kind::Plain
                | Kind::Commit
                | Kind::Conditional
                | Kind::Jump
                | Kind::Call
                | Kind::IndirectJump
                | Kind::IndirectCall
                | Kind::Return
        );
        !near || matches!(self.filter, Filter::Region(_))
    }

    fn ptwrite(&mut self, ip: u64) -> u64 {
        let wide = self.dice.percent(50);
        let payload = if wide { self.dice.next() } else { self.dice.below(1 << 32) };
        let fup = self.settings.event_addresses;
        self.encoder.event(self.tsc, Packet::Ptw { payload, wide, fup }, fup.then_some(ip));
        payload
    }

    /// Where the instruction at `spot` leads.
    fn successor(&mut self, spot: Spot, kind: Kind) -> Spot {
        let next = Spot { index: spot.index + 1, ..spot };
        let target = self.layout.at(spot).target.unwrap_or(next);
        match kind {
            Kind::Conditional if self.dice.percent(45) => target,
            Kind::Jump => target,
            Kind::Call => {
                self.calls.push(next);
                target
            }
            Kind::IndirectCall => {
                self.calls.push(next);
                self.somewhere_near(spot)
            }
            Kind::IndirectJump => self.somewhere_near(spot),
            Kind::Return => {
                let call = self.calls.pop();
                let back = call.filter(|call| self.layout.region(*call).is_near(self.layout.region(spot)));
                let honest = self.dice.percent(90);
                back.filter(|_| honest).unwrap_or_else(|| self.somewhere_near(spot))
            }
            Kind::Syscall => {
                self.interrupted.push(next);
                self.somewhere(|kernel| kernel)
            }
            Kind::ToUser | Kind::Eretu => {
                let back = self.interrupted.pop();
                let back = back.filter(|spot| !self.layout.region(*spot).kernel);
                back.unwrap_or_else(|| self.somewhere(|kernel| !kernel))
            }
            Kind::Iret => self.interrupted.pop().unwrap_or_else(|| self.somewhere(|_| true)),
            Kind::Erets => self.somewhere(|kernel| kernel),
            Kind::VmEntry | Kind::Rsm => self.somewhere(|_| true),
            Kind::Far | Kind::UserIret => self.somewhere(|kernel| !kernel),
            _ => next,
        }
    }

    /// A random instruction that near branches from `spot` may lead to; a few of them are the target again and again.
    fn somewhere_near(&mut self, spot: Spot) -> Spot {
        let layout = &self.layout;
        let found = layout.any(&mut self.dice, |_, region| region.is_near(layout.region(spot)));
        let mut found = found.unwrap_or(spot);
        if self.dice.percent(60) {
            found.index %= 8.min(layout.regions[found.region].code.len());
        }
        found
    }

    /// A random instruction in the kernel or outside of it; in the kernel's absence anywhere.
    pub(super) fn somewhere(&mut self, fits: impl Fn(bool) -> bool) -> Spot {
        let found = self.layout.any(&mut self.dice, |_, region| fits(region.kernel));
        found.or_else(|| self.layout.any(&mut self.dice, |_, _| true)).unwrap_or(self.at)
    }

    /// The instruction at `spot` retires and leads to `to`.
    fn go(&mut self, spot: Spot, kind: Kind, to: Spot) {
        let mut instruction = self.layout.instruction(spot);
        if kind == Kind::Conditional && to.index == spot.index + 1 && to.region == spot.region {
            // Both ways may lead to the next instruction.
            instruction.target = if self.dice.percent(50) { instruction.target } else { 0 };
        }
        let traced = self.is_traced(to);
        match (traced, self.filter) {
            (true, _) => {
                let mode = self.layout.region(to).mode();
                self.encoder.retire(self.tsc, &instruction, Some((self.ip(to), mode)));
            }
            (false, Filter::Region(_)) => self.encoder.leave(self.tsc, None, self.ip(to)),
            (false, _) => self.encoder.retire(self.tsc, &instruction, None),
        }
        match kind {
            Kind::PageTable if self.page_tables => {
                let cr3 = self.dice.below(1 << 40) << 12;
                self.encoder.page_table(cr3);
                self.log(Happened::Paging(cr3));
                self.show();
                self.last = Last::PageTable;
            }
            Kind::PageTable => self.last = Last::PageTable,
            Kind::Begin | Kind::Commit => self.transaction(kind == Kind::Begin, to),
            Kind::Plain | Kind::PtWrite | Kind::Mwait | Kind::Jump | Kind::Call if traced => {}
            _ => {
                if !traced && self.last == Last::PageTable {
                    self.goes_beyond(Beyond::PageTableOnTheWayOut);
                }
                self.show();
            }
        }
        if traced {
            self.at = to;
        } else {
            let address = matches!(self.filter, Filter::Region(_)).then(|| self.ip(to));
            self.resume = if kind == Kind::Call || kind == Kind::IndirectCall || kind == Kind::Syscall {
                Spot { index: spot.index + 1, ..spot }
            } else {
                spot
            };
            self.log(Happened::Disabled { to: address, from: None });
            self.show();
        }
    }

    /// A transaction begins or is committed: the FUP has the next instruction's address.
    fn transaction(&mut self, begins: bool, to: Spot) {
        if self.in_transaction == begins {
            return;
        }
        self.in_transaction = begins;
        let packet = Packet::ModeTsx { in_tx: begins, abort: false };
        self.encoder.event(self.tsc, packet, Some(self.ip(to)));
        self.log(if begins { Happened::Began } else { Happened::Committed });
        self.show();
    }
}
