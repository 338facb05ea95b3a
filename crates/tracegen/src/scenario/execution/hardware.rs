//! What a CPU does by itself: starts and stops tracing, is interrupted, sleeps, changes its ratio, loses packets.

use super::Runner;
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
            Statement::Ratio(ratio) => cpu.buffer.encoder.change_ratio(cpu.tsc, *ratio),
            Statement::Packet(packets) => {
                for &packet in packets {
                    let addressed = matches!(packet, Packet::ModeTsx { .. });
                    cpu.buffer.encoder.event(cpu.tsc, packet, cpu.ip.filter(|_| addressed));
                }
            }
            Statement::Sleep { duration, state, wake } => {
                let ticks = machine.ticks(*duration);
                if machine.power {
                    self.sleep(number, ticks, (*state, *wake));
                } else {
                    cpu.tsc += ticks;
                    cpu.buffer.encoder.wake(cpu.tsc);
                }
            }
            Statement::Smi(duration) => {
                let ip = cpu
                    .ip
                    .filter(|_| cpu.buffer.encoder.is_enabled())
                    .ok_or("an SMI stops a running trace")?;
                cpu.buffer.encoder.disable_at(cpu.tsc, ip);
                cpu.tsc += machine.ticks(*duration);
                let mode = self.mode(ip)?;
                let cpu = &mut self.cpus[number];
                cpu.buffer.encoder.enable(cpu.tsc, ip, mode);
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
        let from = cpu.ip.filter(|_| cpu.buffer.encoder.is_enabled()).ok_or("nothing is traced here")?;
        cpu.buffer.encoder.event(cpu.tsc, Packet::ModeTsx { in_tx: false, abort: true }, None);
        cpu.buffer.encoder.asynchronous(cpu.tsc, from, Some((to, mode)));
        cpu.ip = Some(to);
        Ok(())
    }

    /// perf copies what the ring of CPU `number`, or of the thread on it, holds now.
    pub(super) fn copy(&mut self, number: usize, is_such_a_ring: bool) -> Result<(), String> {
        if !is_such_a_ring {
            return Err("say first of the machine: `snapshot N`, or `aux-samples N`".to_owned());
        }
        let cpu = &self.cpus[number];
        let (ip, thread) = cpu.ip.zip(cpu.thread).ok_or("nothing is traced here")?;
        let mode = self.mode(ip)?;
        let cpu = &mut self.cpus[number];
        cpu.buffer.copy(cpu.tsc, self.scenario.machine.ring, thread, (ip, mode));
        Ok(())
    }

    /// The AUX buffer is full for so many ticks; tracing begins anew at `resume`.
    fn fill(&mut self, number: usize, ticks: u64, resume: &str) -> Result<(), String> {
        let ip = self.label(resume)?;
        let mode = self.mode(ip)?;
        let cpu = &mut self.cpus[number];
        cpu.buffer.encoder.stall();
        cpu.buffer.flags.push((cpu.tsc, TRUNCATED));
        cpu.tsc += ticks;
        cpu.buffer.encoder.start(cpu.tsc, ip, mode);
        cpu.buffer.note_full();
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
        cpu.buffer.encoder.flush_tnt();
        cpu.tsc += ticks;
        cpu.buffer.encoder.overflow(cpu.tsc, ip);
        cpu.buffer.note_sync_points();
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
            cpu.buffer.encoder.event(cpu.tsc, packet, None);
        }
        cpu.buffer.encoder.event(cpu.tsc, Packet::Pwre { hw: false, state, sub_state: 0 }, None);
        cpu.buffer.encoder.event(cpu.tsc, Packet::ExStop { fup: mwait.is_some() }, mwait);
        cpu.tsc += ticks;
        cpu.buffer.encoder.wake(cpu.tsc);
        cpu.buffer.encoder.event(cpu.tsc, Packet::Pwrx { last: state, deepest: state, wake }, None);
    }

    pub(super) fn trace_on(&mut self, number: usize, label: &str) -> Result<(), String> {
        let ip = self.label(label)?;
        let mode = self.mode(ip)?;
        let cpu = &mut self.cpus[number];
        (cpu.ip, cpu.tracing) = (Some(ip), true);
        self.start(number, (ip, mode))
    }

    pub(super) fn trace_off(&mut self, number: usize) -> Result<(), String> {
        let cpu = &mut self.cpus[number];
        let ip = cpu.ip.ok_or("nothing is traced here")?;
        cpu.tracing = false;
        if cpu.buffer.encoder.is_enabled() {
            cpu.buffer.encoder.disable_at(cpu.tsc, ip);
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
        if cpu.buffer.encoder.is_enabled() {
            let told = self.scenario.machine.settings.event_trace;
            let events = event.filter(|_| told).map_or_else(Vec::new, packets_of);
            for packet in events {
                cpu.buffer.encoder.event(cpu.tsc, packet, None);
            }
            cpu.buffer.encoder.asynchronous(cpu.tsc, from, visible.then_some((to, mode)));
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
