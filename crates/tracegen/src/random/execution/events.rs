//! What comes between instructions: interruptions, aborts, lost packets, tracing that stops and resumes.

use super::{Filter, Last, Walk};
use crate::packet::Packet;
use crate::random::layout::Spot;
use crate::random::{Beyond, Happened};

impl Walk {
    /// Tracing is off: something may happen still; then it comes back.
    pub(super) fn rest(&mut self) {
        self.spend();
        match self.dice.below(20) {
            0 => {
                self.encoder.event(self.tsc, Packet::TraceStop, None);
                self.log(Happened::Stopped);
            }
            1 => {
                self.encoder.overflow_off(self.tsc);
                self.log(Happened::Lost(None));
            }
            2 => self.change_ratio(),
            3 => self.wake(),
            4 => self.encoder.event(self.tsc, Packet::Vmcs(self.dice.below(1 << 40)), None),
            5 => self.encoder.switch_on(self.tsc),
            6 => self.encoder.event(self.tsc, Packet::Pwrx { last: 6, deepest: 6, wake: 1 }, None),
            _ => {}
        }
        self.spend();
        let again = self.dice.percent(50) && self.is_traced(self.resume);
        let to = if again { self.resume } else { self.somewhere_traced() };
        let mode = self.layout.region(to).mode();
        self.encoder.enable(self.tsc, self.ip(to), mode);
        self.log(Happened::Enabled(self.ip(to)));
        self.show();
        (self.at, self.in_transaction) = (to, false);
    }

    fn somewhere_traced(&mut self) -> Spot {
        let filter = self.filter;
        let found = self.layout.any(&mut self.dice, |number, region| match filter {
            Filter::All => true,
            Filter::User => !region.kernel,
            Filter::Kernel => region.kernel,
            Filter::Region(traced) => number == traced,
        });
        found.unwrap_or(self.at)
    }

    /// Something happens before the next instruction.
    pub(super) fn interrupt_flow(&mut self) {
        self.spend();
        if self.in_transaction {
            return if self.dice.percent(50) { self.abort() } else { self.overflow() };
        }
        match self.dice.below(20) {
            0..=6 => self.interruption(None, false),
            7 | 8 => self.overflow(),
            9 | 10 => self.stop(),
            11 | 12 => self.change_ratio(),
            13 => self.wake(),
            14 => {
                let ip = self.ip(self.at);
                self.sleep(ip);
            }
            15 => self.pebs(),
            _ if self.triggers && self.dice.percent(30) => self.trigger(),
            16 if self.settings.event_trace => self.mask(),
            17 => {
                self.encoder.event(self.tsc, Packet::Mnt(self.dice.next()), None);
                self.unbound.push(self.tsc);
            }
            18 => self.encoder.event(self.tsc, Packet::Pad, None),
            _ => self.encoder.flush_tnt(),
        }
    }

    /// An interrupt or exception, with this vector or a random one; or one by an instruction (`by_software`).
    pub(super) fn interruption(&mut self, vector: Option<u8>, by_software: bool) {
        let from = self.ip(self.at);
        let vector = vector.unwrap_or_else(|| self.dice.one(&[14, 32, 236, 251]));
        if self.settings.event_trace {
            if vector == 14 {
                let payload = self.dice.next();
                self.encoder.event(self.tsc, Packet::Evd { kind: 0, payload }, None);
                self.log(Happened::Data { kind: 0, payload });
            }
            let kind = if by_software && self.layout.has_event_returns { 14 } else { 1 };
            if kind == 14 {
                self.goes_beyond(Beyond::EventsOfFred);
            }
            let fup = self.dice.percent(30);
            self.encoder.event(self.tsc, Packet::Cfe { kind, vector, fup }, fup.then_some(from));
            self.log(Happened::Reported { kind, vector, ip: from });
        }
        let to = self.somewhere(|kernel| kernel);
        self.interrupted.push(self.at);
        self.leave_for(from, to);
    }

    /// Execution is taken from `from` to `to`.
    fn leave_for(&mut self, from: u64, to: Spot) {
        let ip = self.ip(to);
        match (self.is_traced(to), self.filter) {
            (true, _) => {
                let mode = self.layout.region(to).mode();
                self.encoder.asynchronous(self.tsc, from, Some((ip, mode)));
                self.log(Happened::Interrupted { from, to: ip });
                self.show();
                self.at = to;
                return;
            }
            (false, Filter::Region(_)) => {
                self.encoder.leave(self.tsc, Some(from), ip);
                self.log(Happened::Disabled { to: Some(ip), from: Some(from) });
            }
            (false, _) => {
                self.encoder.asynchronous(self.tsc, from, None);
                self.log(Happened::Disabled { to: None, from: Some(from) });
            }
        }
        self.resume = self.at;
        self.show();
    }

    /// The transaction aborts.
    pub(super) fn abort(&mut self) {
        self.in_transaction = false;
        let from = self.ip(self.at);
        self.encoder.event(self.tsc, Packet::ModeTsx { in_tx: false, abort: true }, None);
        self.log(Happened::Aborted);
        let to = Spot { region: self.at.region, index: self.dice.index(8) };
        self.leave_for(from, to);
    }

    /// Packets are lost, and with them what no packet before shows.
    fn overflow(&mut self) {
        self.encoder.flush_tnt();
        self.happened.truncate(self.shown);
        if self.last == Last::Mask {
            self.goes_beyond(Beyond::FlagBeforeLoss);
        }
        self.in_transaction = false;
        self.tsc += self.dice.below(50_000);
        let region = self.at.region;
        let to = Spot { region, index: self.dice.index(self.layout.regions[region].code.len()) };
        match self.dice.below(3) {
            0 => {
                self.encoder.overflow_off(self.tsc);
                self.log(Happened::Lost(None));
                return self.show();
            }
            1 => self.encoder.overflow_alone(self.tsc, self.ip(to)),
            _ => self.encoder.overflow(self.tsc, self.ip(to)),
        }
        self.log(Happened::Lost(Some(self.ip(to))));
        self.show();
        self.at = to;
    }

    /// Tracing is switched off before the next instruction.
    pub(super) fn stop(&mut self) {
        if self.in_transaction {
            self.abort();
        }
        if self.encoder.is_enabled() {
            let from = self.ip(self.at);
            self.encoder.disable_at(self.tsc, from);
            self.resume = self.at;
            self.log(Happened::Disabled { to: None, from: Some(from) });
            self.show();
        }
    }

    fn change_ratio(&mut self) {
        // As fast as the TSC, so that times stay exact; said again.
        self.encoder.change_ratio(self.tsc, self.settings.tsc_ratio);
        self.unbound.push(self.tsc);
    }

    /// The clock went on while nothing ran.
    fn wake(&mut self) {
        self.tsc += self.dice.below(1_000_000);
        self.encoder.wake(self.tsc);
        self.unbound.push(self.tsc);
    }

    /// The core sleeps and wakes at `ip`.
    pub(super) fn sleep(&mut self, ip: u64) {
        let fup = self.settings.event_addresses;
        if self.dice.percent(50) {
            self.encoder.event(self.tsc, Packet::Mwait { hints: 0x60, extensions: 1 }, None);
        }
        self.encoder.event(self.tsc, Packet::Pwre { hw: false, state: 6, sub_state: 0 }, None);
        self.encoder.event(self.tsc, Packet::ExStop { fup }, fup.then_some(ip));
        self.unbound.push(self.tsc);
        self.wake();
        self.encoder.event(self.tsc, Packet::Pwrx { last: 6, deepest: 6, wake: 1 }, None);
        if fup {
            self.show();
        }
    }

    /// A block of PEBS, whose FUP names the next instruction.
    fn pebs(&mut self) {
        let (narrow, fup) = (self.dice.percent(30), self.dice.percent(50));
        self.encoder.event(self.tsc, Packet::Bbp { kind: 1, narrow }, None);
        for _ in 0..self.dice.below(4) {
            let (id, payload) = (self.dice.below(32) as u8, self.dice.next());
            // No other packet comes between: the encoder has written all times up to now.
            self.encoder.event(self.tsc, Packet::Bip { id, payload, narrow }, None);
        }
        let ip = self.ip(self.at);
        self.encoder.event(self.tsc, Packet::Bep { fup }, fup.then_some(ip));
        if fup {
            self.show();
        }
    }

    /// A trigger fires at the next instruction.
    fn trigger(&mut self) {
        let (triggers, multiple) = (1 << self.dice.below(4), self.dice.percent(20));
        let fup = self.dice.percent(50);
        let count = if fup { Some(0) } else { self.dice.percent(50).then(|| self.dice.below(40) as u16) };
        let ip = self.ip(self.at);
        self.encoder.event(self.tsc, Packet::Trig { triggers, count, multiple, fup }, fup.then_some(ip));
        self.goes_beyond(Beyond::Triggers);
        if fup {
            self.show();
        }
    }

    /// Interrupts are let in or kept out: MODE.Exec and a FUP.
    fn mask(&mut self) {
        let (mode, interrupts) = (self.layout.region(self.at).mode(), self.dice.percent(50));
        let ip = self.ip(self.at);
        self.encoder.event(self.tsc, Packet::ModeExec { mode, interrupts }, Some(ip));
        self.show();
        self.last = Last::Mask;
    }
}
