//! What a CPU does by itself: starts and stops tracing, is interrupted, sleeps, changes its ratio, loses packets.

use super::{Aside, Runner};
use crate::instruction::Class;
use crate::packet::Packet;
use crate::scenario::statement::{Event, Statement};

/// Flag of an AUX record: the buffer was full (`PERF_AUX_FLAG_TRUNCATED`).
const TRUNCATED: u64 = 1;

/// The page fault's vector.
const PAGE_FAULT: u8 = 14;

impl Runner<'_> {
    /// What the CPU does by itself.
    pub(super) fn hardware(&mut self, number: usize, statement: &Statement) -> Result<(), String> {
        let machine = &self.scenario.machine;
        let cpu = &mut self.cpus[number];
        match statement {
            Statement::Ratio(ratio) => cpu.encoder.change_ratio(cpu.tsc, *ratio),
            Statement::Packet(packets) => {
                for &packet in packets {
                    let addressed = matches!(packet, Packet::ModeTsx { .. });
                    cpu.encoder.event(cpu.tsc, packet, cpu.ip.filter(|_| addressed));
                }
            }
            Statement::Sleep { duration, state, wake } => {
                let ticks = machine.ticks(*duration);
                if machine.power {
                    self.sleep(number, ticks, (*state, *wake));
                } else {
                    cpu.tsc += ticks;
                    cpu.encoder.wake(cpu.tsc);
                }
            }
            Statement::Smi(duration) => {
                let ip = cpu.ip.filter(|_| cpu.encoder.is_enabled()).ok_or("an SMI stops a running trace")?;
                cpu.encoder.disable_at(cpu.tsc, ip);
                cpu.tsc += machine.ticks(*duration);
                let mode = self.mode(ip)?;
                let cpu = &mut self.cpus[number];
                cpu.encoder.enable(cpu.tsc, ip, mode);
            }
            Statement::Abort(label) => self.abort(number, label)?,
            Statement::Full { duration, resume } => self.fill(number, machine.ticks(*duration), resume)?,
            Statement::Overflow { duration, resume } => {
                self.overflow(number, machine.ticks(*duration), resume)?;
            }
            _ => return Err("this is no act of the hardware".to_owned()),
        }
        Ok(())
    }

    /// A transaction aborts: MODE.TSX, FUP, TIP.
    fn abort(&mut self, number: usize, fallback: &str) -> Result<(), String> {
        let to = self.label(fallback)?;
        let mode = self.mode(to)?;
        let cpu = &mut self.cpus[number];
        let from = cpu.ip.filter(|_| cpu.encoder.is_enabled()).ok_or("nothing is traced here")?;
        cpu.encoder.event(cpu.tsc, Packet::ModeTsx { in_tx: false, abort: true }, None);
        cpu.encoder.asynchronous(cpu.tsc, from, Some((to, mode)));
        cpu.ip = Some(to);
        Ok(())
    }

    /// The AUX buffer is full for so many ticks; tracing begins anew at `resume`.
    fn fill(&mut self, number: usize, ticks: u64, resume: &str) -> Result<(), String> {
        let ip = self.label(resume)?;
        let mode = self.mode(ip)?;
        let cpu = &mut self.cpus[number];
        cpu.encoder.stall();
        cpu.asides.push((cpu.tsc, Aside::AuxFlags(TRUNCATED)));
        cpu.tsc += ticks;
        cpu.encoder.start(cpu.tsc, ip, mode);
        cpu.note_sync_points();
        cpu.full.extend(cpu.encoder.sync_points().last().map(|&(offset, _)| offset));
        cpu.ip = Some(ip);
        Ok(())
    }

    /// The core's own buffer overflows for so many ticks; packets begin again at `resume`.
    fn overflow(&mut self, number: usize, ticks: u64, resume: &str) -> Result<(), String> {
        let ip = self.label(resume)?;
        let cpu = &mut self.cpus[number];
        if !cpu.last.is_some_and(|last| leaves_packet(last.class)) {
            return Err("packets can only be lost right after a branch with a packet".to_owned());
        }
        cpu.encoder.flush_tnt();
        cpu.tsc += ticks;
        cpu.encoder.overflow(cpu.tsc, ip);
        cpu.note_sync_points();
        cpu.ip = Some(ip);
        Ok(())
    }

    /// The CPU sleeps in `state` until it is woken by `wake`, and says so.
    fn sleep(&mut self, number: usize, ticks: u64, (state, wake): (u8, u8)) {
        let cpu = &mut self.cpus[number];
        let mwait = cpu.last.filter(|last| last.class == Class::Mwait).map(|last| last.ip);
        if mwait.is_some() {
            // Bound to the FUP of EXSTOP: libipt takes no FUP between.
            let packet = Packet::Mwait { hints: self.rax as u32, extensions: 1 };
            cpu.encoder.event(cpu.tsc, packet, None);
        }
        cpu.encoder.event(cpu.tsc, Packet::Pwre { hw: false, state, sub_state: 0 }, None);
        cpu.encoder.event(cpu.tsc, Packet::ExStop { fup: mwait.is_some() }, mwait);
        cpu.tsc += ticks;
        cpu.encoder.wake(cpu.tsc);
        cpu.encoder.event(cpu.tsc, Packet::Pwrx { last: state, deepest: state, wake }, None);
    }

    pub(super) fn trace_on(&mut self, number: usize, label: &str) -> Result<(), String> {
        let ip = self.label(label)?;
        let mode = self.mode(ip)?;
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        self.aside(number, Aside::TraceStart(thread));
        let visible = self.is_visible(ip);
        let cpu = &mut self.cpus[number];
        (cpu.ip, cpu.tracing) = (Some(ip), true);
        if visible {
            cpu.encoder.start(cpu.tsc, ip, mode);
            cpu.note_sync_points();
        }
        Ok(())
    }

    pub(super) fn trace_off(&mut self, number: usize) -> Result<(), String> {
        let cpu = &mut self.cpus[number];
        let ip = cpu.ip.ok_or("nothing is traced here")?;
        cpu.tracing = false;
        if cpu.encoder.is_enabled() {
            cpu.encoder.disable_at(cpu.tsc, ip);
        }
        Ok(())
    }

    pub(super) fn interrupt(
        &mut self,
        number: usize,
        label: &str,
        event: Option<Event>,
    ) -> Result<(), String> {
        let to = self.label(label)?;
        let (mode, visible) = (self.mode(to)?, self.is_visible(to));
        let cpu = &mut self.cpus[number];
        let from = cpu.ip.ok_or("nothing runs here that could be interrupted")?;
        let thread = cpu.thread.ok_or("say first who `runs` here")?;
        if cpu.encoder.is_enabled() {
            let told = self.scenario.machine.settings.event_trace;
            let events = event.filter(|_| told).map_or_else(Vec::new, packets_of);
            for packet in events {
                cpu.encoder.event(cpu.tsc, packet, None);
            }
            cpu.encoder.asynchronous(cpu.tsc, from, visible.then_some((to, mode)));
        }
        cpu.ip = Some(to);
        self.contexts[thread].interrupted.push(from);
        Ok(())
    }
}

/// What Event Trace writes before the FUP of an interruption.
fn packets_of(event: Event) -> Vec<Packet> {
    // Control-flow event 1 is an interrupt or exception; event data 0 is the fault's address.
    // Without an address of its own: the FUP of the interruption follows.
    let interrupt = |vector| Packet::Cfe { kind: 1, vector, fup: false };
    match event {
        Event::Vector(vector) => vec![interrupt(vector)],
        Event::Address(payload) => vec![Packet::Evd { kind: 0, payload }, interrupt(PAGE_FAULT)],
    }
}

/// Does an instruction of this class write a packet when it retires?
pub(super) fn leaves_packet(class: Class) -> bool {
    matches!(
        class,
        Class::Conditional
            | Class::IndirectJump
            | Class::IndirectCall
            | Class::Return
            | Class::Syscall
            | Class::Far
            | Class::SoftwareInterrupt
    )
}
