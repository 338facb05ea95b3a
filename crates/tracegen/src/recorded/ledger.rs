//! Writes down what was executed, for whoever checks the trace or builds the truth.
//!
//! Input: the steps of one CPU. Output in a directory: `instructions<cpu>.bin` (addresses), `times<cpu>.bin` (guest TSC at which the
//! instruction's block began), both u64 little endian; `events<cpu>.csv`; the stalls of the emulator's host, and those of the machine model.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::flow::{Event, Step};
use super::log::StallKind;
use super::power::PowerEvents;
use crate::error::Error;
use crate::instruction::Class;

/// Buffer size of the large files.
const BUFFER: usize = 1 << 20;

/// Time in which a CPU that was not idle executed nothing: its host stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The CPU.
    pub cpu: usize,
    /// Guest TSC of the last thing before it.
    pub from: u64,
    /// Guest TSC of the first thing after it.
    pub to: u64,
    /// Address of the block in which it fell.
    pub ip: u64,
}

/// Time in which the machine model stalled a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelledStall {
    pub(super) cpu: usize,
    pub(super) kind: StallKind,
    /// Guest TSC.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) detail: u64,
}

/// A file that is being written, with its path.
struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    fn create(path: PathBuf) -> Result<Output, Error> {
        let file = File::create(&path).map_err(Error::file(&path))?;
        Ok(Output { path, file: BufWriter::with_capacity(BUFFER, file) })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(Error::file(&self.path))
    }

    fn finish(mut self) -> Result<(), Error> {
        self.file.flush().map_err(Error::file(&self.path))
    }
}

/// The record of one CPU.
pub(super) struct Ledger {
    cpu: usize,
    instructions: Output,
    times: Output,
    events: Output,
    /// A gap is longer than so many ticks.
    bound: u64,
    /// Time and block of the last sign of life; `None` while the CPU is idle.
    alive: Option<(u64, u64)>,
    block: u64,
    /// Number of instructions.
    pub(super) executed: u64,
    /// Guest TSC of the first and the last step.
    pub(super) span: Option<(u64, u64)>,
    pub(super) gaps: Vec<Gap>,
    pub(super) stalls: Vec<ModelledStall>,
    /// What the machine model did that the guest could not record.
    pub(super) power: PowerEvents,
}

impl Ledger {
    /// A ledger of `cpu` in `directory`; nothing executed for more than `bound` ticks is a gap.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(super) fn create(directory: &Path, cpu: usize, bound: u64) -> Result<Ledger, Error> {
        let mut ledger = Ledger {
            cpu,
            instructions: Output::create(directory.join(format!("instructions{cpu}.bin")))?,
            times: Output::create(directory.join(format!("times{cpu}.bin")))?,
            events: Output::create(directory.join(format!("events{cpu}.csv")))?,
            bound,
            alive: None,
            block: 0,
            executed: 0,
            span: None,
            gaps: Vec::new(),
            stalls: Vec::new(),
            power: PowerEvents::default(),
        };
        ledger.events.write(b"tsc,kind,name,from,to\n")?;
        Ok(ledger)
    }

    /// Writes down one step.
    pub(super) fn take(&mut self, step: &Step<'_>) -> Result<(), Error> {
        match (&mut self.span, step.event) {
            (Some((_, to)), _) => *to = step.tsc,
            (None, Event::Begin { .. }) => self.span = Some((step.tsc, step.tsc)),
            // Only the page table is known before the first instruction.
            (None, _) => return Ok(()),
        }
        self.look_for_gap(step);
        match step.event {
            Event::Ran { instructions, began } => {
                self.executed += instructions.len() as u64;
                for instruction in instructions {
                    self.instructions.write(&instruction.ip.to_le_bytes())?;
                    self.times.write(&began.to_le_bytes())?;
                }
                Ok(())
            }
            Event::Interrupt { from, to, entry } => {
                let kind = if entry.is_fault { "exception" } else { "interrupt" };
                self.event(step.tsc, kind, &entry.name, from, to)
            }
            Event::PageTable(cr3) => self.event(step.tsc, "pagetable", "", 0, cr3),
            Event::PtWrite { ip, value } => self.event(step.tsc, "ptwrite", "", ip, value),
            Event::Idle { ip, state } => {
                self.power.idle(self.cpu, step.tsc, state);
                self.event(step.tsc, "idle", "", ip, 0)
            }
            Event::Stall { kind, from, detail } => {
                self.stalls.push(ModelledStall { cpu: self.cpu, kind, from, to: step.tsc, detail });
                Ok(())
            }
            Event::Request { cpu, ratio, by_governor } => {
                if by_governor {
                    self.power.request(self.cpu, step.tsc, cpu, ratio);
                }
                Ok(())
            }
            Event::Resume => self.event(step.tsc, "resume", "", 0, 0),
            // `iretq` and its kin: what comes after may be a string instruction, which stands in the ledger as of its end.
            Event::Branch { instruction, to } if instruction.class == Class::Far => {
                self.event(step.tsc, "return", "", instruction.ip, to)
            }
            Event::Begin { .. } | Event::Block { .. } | Event::Branch { .. } | Event::End { .. } => Ok(()),
        }
    }

    fn event(&mut self, tsc: u64, kind: &str, name: &str, from: u64, to: u64) -> Result<(), Error> {
        self.events.write(format!("{tsc},{kind},{name},{from:x},{to:x}\n").as_bytes())
    }

    fn look_for_gap(&mut self, step: &Step<'_>) {
        // What the model is the reason of is no stall of the host.
        let until = if let Event::Stall { from, .. } = step.event { from } else { step.tsc };
        if let Some((from, ip)) = self.alive.filter(|(from, _)| until.saturating_sub(*from) > self.bound) {
            self.gaps.push(Gap { cpu: self.cpu, from, to: until, ip });
        }
        if let Event::Block { ip } = step.event {
            self.block = ip;
        }
        let is_idle = matches!(step.event, Event::Idle { .. } | Event::End { .. });
        let still_idle = self.alive.is_none() && !matches!(step.event, Event::Resume | Event::Block { .. });
        self.alive = (!is_idle && !still_idle).then_some((step.tsc, self.block));
    }

    /// Ends the files.
    ///
    /// # Errors
    /// [`Error::File`].
    pub(super) fn finish(self) -> Result<(), Error> {
        self.instructions.finish()?;
        self.times.finish()?;
        self.events.finish()
    }
}
