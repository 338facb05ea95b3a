//! Which buffer a CPU's trace goes to: its own, or that of the thread on it.
//!
//! Invariant: the buffer of a thread is in `parked` exactly while the thread is on no CPU.

use super::{Aside, Executed, Happened, Owner, Runner};
use crate::packet::ExecMode;

impl Runner<'_> {
    /// Is what `thread` does traced? Per thread, the idle task has no buffer.
    pub(super) fn covers(&self, thread: usize) -> bool {
        self.parked.is_empty() || self.scenario.threads[thread].pid != 0
    }

    /// `thread` is on CPU `number` from here on, and its trace goes where it belongs.
    pub(super) fn put_on(&mut self, number: usize, thread: usize) -> Result<(), String> {
        let cpu = &mut self.cpus[number];
        let before = cpu.thread.replace(thread);
        if self.parked.is_empty() || before == Some(thread) {
            return Ok(());
        }
        if let (true, Some(ip)) = (cpu.buffer.encoder.is_enabled(), cpu.ip) {
            cpu.buffer.encoder.disable_at(cpu.tsc, ip);
        }
        for thread in before.into_iter().chain([thread]) {
            std::mem::swap(&mut cpu.buffer, &mut self.parked[thread]);
        }
        match cpu.ip.filter(|_| cpu.tracing) {
            Some(ip) => self.start(number, (ip, self.mode(ip)?)),
            None => Ok(()),
        }
    }

    /// The kernel switches tracing on for the thread that is on CPU `number`.
    pub(super) fn start(&mut self, number: usize, (ip, mode): (u64, ExecMode)) -> Result<(), String> {
        let thread = self.cpus[number].thread.ok_or("say first who `runs` here")?;
        if !self.covers(thread) {
            return Ok(());
        }
        // A thread's event reports once that it starts, a CPU's each time that it is switched on.
        if self.parked.is_empty() || self.cpus[number].buffer.encoder.written() == 0 {
            self.aside(number, Aside::TraceStart(thread));
        }
        let visible = self.is_visible(ip);
        let cpu = &mut self.cpus[number];
        cpu.buffer.start(cpu.tsc, (ip, mode), visible);
        Ok(())
    }

    /// What the scenario left, with the lines that `happened`.
    pub(super) fn finish(mut self, happened: Vec<Happened>) -> Executed {
        let ring = self.scenario.machine.ring;
        let mut buffers = Vec::new();
        let mut ends = vec![None; self.parked.len()];
        let mut asides = Vec::new();
        for (number, mut cpu) in (0..).zip(self.cpus) {
            asides.push(cpu.asides);
            if self.parked.is_empty() {
                buffers.push(cpu.buffer.finish(Owner::Cpu(number), cpu.tsc, cpu.ip, ring));
            } else if let Some(thread) = cpu.thread {
                ends[thread] = Some((cpu.tsc, cpu.ip));
                std::mem::swap(&mut cpu.buffer, &mut self.parked[thread]);
            }
        }
        for ((thread, buffer), end) in self.scenario.threads.iter().zip(self.parked).zip(ends) {
            let (tsc, ip) = end.unwrap_or((buffer.encoder.now(), None));
            if thread.pid != 0 {
                buffers.push(buffer.finish(Owner::Thread(thread.tid), tsc, ip, ring));
            }
        }
        Executed { buffers, asides, intervals: self.intervals, happened }
    }
}
