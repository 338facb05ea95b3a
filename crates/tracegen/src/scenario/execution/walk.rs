//! Walks code: which instructions a `run` executes, and what they leave in the trace.

use std::collections::VecDeque;

use super::hardware::leaves_packet;
use super::{Retired, Runner};
use crate::instruction::{Class, Instruction};
use crate::packet::{ExecMode, Packet};
use crate::scenario::statement::Until;

/// A run that does not end by then never will.
const MOST_INSTRUCTIONS: usize = 10_000_000;

/// One executed instruction and the next one.
pub(super) struct Hop {
    instruction: Instruction,
    to: u64,
    to_mode: ExecMode,
}

impl Hop {
    /// Whether it is a branch that a TNT packet may hold.
    fn may_have_a_bit(&self) -> bool {
        matches!(self.instruction.class, Class::Conditional | Class::Return)
    }
}

/// What a `run` statement decides in advance.
struct Choices<'a> {
    branches: VecDeque<bool>,
    targets: VecDeque<&'a str>,
}

impl<'a> Choices<'a> {
    /// The label that the instruction at `ip` goes to.
    fn target(&mut self, ip: u64) -> Result<&'a str, String> {
        let label = self.targets.pop_front();
        label.ok_or_else(|| format!("the instruction at {ip:#x} needs one of `targets`"))
    }
}

impl Runner<'_> {
    /// Finds the instructions that a `run` on CPU `number` executes. Nothing is written yet.
    pub(super) fn walk(
        &mut self,
        number: usize,
        until: &Until,
        branches: &[bool],
        targets: &[String],
    ) -> Result<Vec<Hop>, String> {
        let cpu = &self.cpus[number];
        let (mut ip, tsc) = (cpu.ip.ok_or("nothing runs here: `trace on` first")?, cpu.tsc);
        let thread = cpu.thread.ok_or("say first who `runs` here")?;
        let mut choices = Choices {
            branches: branches.iter().copied().collect(),
            targets: targets.iter().map(String::as_str).collect(),
        };
        let end = match until {
            Until::Before(label) | Until::Through(label) => self.label(label)?,
            Until::Count(_) => 0,
        };
        let mut path = Vec::new();
        loop {
            let (bytes, bits) =
                self.scenario.code_at(ip, tsc).ok_or_else(|| format!("no code at {ip:#x}"))?;
            let instruction = Instruction::decode(&bytes, ip, bits);
            let mut instruction = instruction.ok_or_else(|| format!("no instruction at {ip:#x}"))?;
            if instruction.class == Class::Conditional && choices.branches.front() == Some(&false) {
                // Both ways may lead to the next instruction: then it is no target.
                instruction.target = 0;
            }
            let to = self.successor(&instruction, &mut choices, thread)?;
            path.push(Hop { instruction, to, to_mode: self.mode(to)? });
            let done = match until {
                Until::Before(_) => to == end,
                Until::Through(_) => ip == end,
                Until::Count(count) => path.len() as u64 == *count,
            };
            ip = to;
            if done {
                break;
            }
            if path.len() == MOST_INSTRUCTIONS {
                return Err("this run does not reach its end".to_owned());
            }
        }
        if !choices.branches.is_empty() || !choices.targets.is_empty() {
            return Err("this run ends before all its branches and targets are used".to_owned());
        }
        Ok(path)
    }

    /// Where control goes from `instruction`; calls and kernel entries are remembered.
    fn successor(
        &mut self,
        instruction: &Instruction,
        choices: &mut Choices<'_>,
        thread: usize,
    ) -> Result<u64, String> {
        let next = instruction.next();
        let to = match instruction.class {
            Class::Plain | Class::PageTable | Class::PtWrite | Class::Mwait => next,
            Class::Jump => instruction.target,
            Class::Conditional => match choices.branches.pop_front() {
                Some(true) => instruction.target,
                Some(false) => next,
                None => return Err(format!("the jump at {:#x} needs one of `branches`", instruction.ip)),
            },
            Class::Call => {
                self.contexts[thread].calls.push(next);
                instruction.target
            }
            Class::IndirectJump => self.label(choices.target(instruction.ip)?)?,
            Class::IndirectCall => {
                let to = self.label(choices.target(instruction.ip)?)?;
                self.contexts[thread].calls.push(next);
                to
            }
            Class::Return => match self.contexts[thread].calls.pop() {
                Some(to) => to,
                None => self.label(choices.target(instruction.ip)?)?,
            },
            Class::Syscall => {
                self.contexts[thread].interrupted.push(next);
                // Under FRED everything that comes from the user enters in one place.
                self.label("asm_fred_entrypoint_user").or_else(|_| self.label("entry_SYSCALL_64"))?
            }
            Class::SoftwareInterrupt => {
                let to = self.label(choices.target(instruction.ip)?)?;
                self.contexts[thread].interrupted.push(next);
                to
            }
            Class::Far => match self.contexts[thread].interrupted.pop() {
                Some(to) => to,
                None => self.label(choices.target(instruction.ip)?)?,
            },
        };
        Ok(to)
    }

    /// Executes `path` on CPU `number` within `duration` ticks. Its last branch gets a TNT packet of its own, so that the trace's
    /// time shows the end of the path: a packet gives the time at which the first of its branches retired.
    pub(super) fn retire_path(&mut self, number: usize, path: &[Hop], duration: u64) {
        let begin = self.cpus[number].tsc;
        let last = path.iter().rposition(Hop::may_have_a_bit);
        for (index, hop) in path.iter().enumerate() {
            if last == Some(index) {
                self.cpus[number].buffer.encoder.flush_tnt();
            }
            let part = u128::from(duration) * (index as u128 + 1) / path.len() as u128;
            self.cpus[number].tsc = begin + part as u64;
            self.retire(number, hop);
        }
        self.cpus[number].buffer.encoder.flush_tnt();
    }

    fn is_iret(&self, ip: u64) -> bool {
        let code = self.scenario.code_at(ip, 0).map(|(bytes, _)| bytes);
        // IRET, and FRED's ERETU and ERETS.
        let is_return = |bytes: Vec<u8>| {
            matches!(bytes.as_slice(), [0xcf, ..] | [0x48, 0xcf, ..] | [0xf2 | 0xf3, 0x0f, 0x01, 0xca, ..])
        };
        code.is_some_and(is_return)
    }

    fn retire(&mut self, number: usize, hop: &Hop) {
        let Hop { instruction, to, to_mode } = hop;
        let visible = self.is_visible(*to);
        let covered = self.cpus[number].thread.is_none_or(|thread| self.covers(thread));
        let told = self.scenario.machine.settings.event_trace;
        let is_iret = instruction.class == Class::Far && self.is_iret(instruction.ip);
        let cpu = &mut self.cpus[number];
        let thread = cpu.thread.unwrap_or_default();
        cpu.ip = Some(*to);
        cpu.last = Some(*instruction);
        if cpu.buffer.encoder.is_enabled() {
            if instruction.class != Class::SoftwareInterrupt {
                // An int never retires: its own address is where the interruption is reported.
                let tid = self.scenario.threads[thread].tid;
                cpu.buffer.retired.push(Retired { tsc: cpu.tsc, ip: instruction.ip, tid });
            }
            if told && is_iret {
                // Control-flow event 2: the FUP says where the iret stands.
                let packet = Packet::Cfe { kind: 2, vector: 0, fup: true };
                cpu.buffer.encoder.event(cpu.tsc, packet, Some(instruction.ip));
            }
            if instruction.class == Class::PtWrite {
                let packet = Packet::Ptw { payload: self.rax, wide: true, fup: true };
                cpu.buffer.encoder.event(cpu.tsc, packet, Some(instruction.ip));
            }
            cpu.buffer.encoder.retire(cpu.tsc, instruction, visible.then_some((*to, *to_mode)));
        }
        if instruction.class == Class::PageTable {
            let pid = self.scenario.threads[thread].pid;
            cpu.buffer.encoder.page_table(u64::from(pid) << 12);
        }
        if cpu.tracing && covered && visible && !cpu.buffer.encoder.is_enabled() {
            cpu.buffer.encoder.enable(cpu.tsc, *to, *to_mode);
        } else if leaves_packet(instruction.class) {
            cpu.buffer.encoder.psb_if_due(*to);
            cpu.buffer.note_sync_points();
        }
    }
}
