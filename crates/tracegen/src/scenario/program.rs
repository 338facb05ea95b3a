//! A scenario as read: machine, code, threads, timelines, truth.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::image::Image;
use super::statement::Statement;
use crate::encoder::{Addresses, Rule, Settings};

/// The machine that the scenario runs on.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) tsc_hz: u64,
    pub(super) crystal_hz: u64,
    /// TSC at time 0 of the scenario.
    pub(super) base: u64,
    pub(super) cpus: u32,
    /// NUMA nodes: number, and its CPUs as `lscpu` lists them.
    pub(super) nodes: Vec<(u32, String)>,
    /// Memory of nodes: number, and first and last block of it.
    pub(super) memory: Vec<(u32, RangeInclusive<u64>)>,
    /// Block devices in the machine file.
    pub(super) disks: Vec<Disk>,
    pub(super) settings: Settings,
    /// Kernel code is traced, too.
    pub(super) kernel: bool,
    /// Whether a ring is all that is kept of the trace.
    pub(super) ring: Ring,
    /// A buffer belongs to a thread, not to a CPU.
    pub(super) per_thread: bool,
    /// What events do to the trace by their attributes: tracepoints by their names, and the trace's own event.
    pub(super) actions: Vec<(String, u32)>,
    /// A rule that the encoder breaks.
    pub(super) broken: Option<Rule>,
    /// Power packets are written.
    pub(super) power: bool,
    /// AUX records and AUXTRACE buffers hold about so many bytes.
    pub(super) buffer_bytes: usize,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disk {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) name: String,
    /// The NUMA node it is attached to, if the machine gives it.
    pub(super) node: Option<u32>,
}

/// A ring that is overwritten: of how many bytes, and when perf copies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ring {
    /// All of the trace is written.
    None,
    /// At each `snapshot`; where there is none, at the end.
    Snapshots(usize),
    /// The last so many bytes beside each `sample`.
    Samples(usize),
}

impl Default for Machine {
    fn default() -> Machine {
        let settings = Settings {
            return_compression: true,
            cycles: true,
            mtc_period: Some(3),
            tsc_numerator: 100,
            tsc_denominator: 1,
            psb_bytes: 2048,
            ratios: true,
            tsc_ratio: 25,
            long_tnt: false,
            addresses: Addresses::Short,
            event_trace: false,
            event_addresses: true,
        };
        Machine {
            tsc_hz: 2_500_000_000,
            crystal_hz: 25_000_000,
            base: 1 << 32,
            cpus: 1,
            nodes: Vec::new(),
            memory: Vec::new(),
            disks: Vec::new(),
            settings,
            kernel: true,
            ring: Ring::None,
            per_thread: false,
            actions: Vec::new(),
            broken: None,
            power: true,
            buffer_bytes: 64 << 10,
        }
    }
}

impl Machine {
    /// TSC ticks of so many picoseconds, rounded down.
    pub(super) fn ticks(&self, picoseconds: u64) -> u64 {
        (u128::from(picoseconds) * u128::from(self.tsc_hz) / 1_000_000_000_000) as u64
    }

    /// The PT event's `config`.
    pub(super) fn config(&self) -> u64 {
        let power_events = if self.power { 0 } else { 1 << 4 };
        self.settings.config() & !power_events
    }

    /// What the event does to the trace.
    pub(super) fn action(&self, event: &str) -> u32 {
        self.actions.iter().filter(|(name, _)| name == event).fold(0, |all, (_, action)| all | action)
    }

    /// The kernel's conversion: nanoseconds = ticks × mult >> shift.
    pub(super) fn mult_shift(&self) -> (u64, u32) {
        let shift = 31;
        (((1_000_000_000u128 << shift) / u128::from(self.tsc_hz.max(1))) as u64, shift)
    }

    /// perf time in nanoseconds.
    pub(super) fn nanoseconds(&self, tsc: u64) -> u64 {
        let (mult, shift) = self.mult_shift();
        ((u128::from(tsc) * u128::from(mult)) >> shift) as u64
    }
}

/// A thread and where it first runs.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// What the scenario calls it.
    pub(super) name: String,
    /// Its name in the kernel.
    pub(super) comm: String,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Where it goes when the kernel first returns to it.
    pub(super) entry: Option<String>,
    /// The path of its control group; empty: samples carry none, unless those of other threads do.
    pub(super) group: String,
}

/// Code that changes while the trace runs.
#[derive(Clone, Debug)]
pub(super) struct Poke {
    pub(super) tsc: u64,
    pub(super) address: u64,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

/// How much of an interval a cause takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Picoseconds(u64),
    /// What the others leave.
    Rest,
}

/// One line of truth: this cause took that long in that interval.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub(super) line: usize,
    /// For these intervals alike.
    pub(super) intervals: RangeInclusive<u64>,
    pub(super) cause: String,
    pub(super) share: Share,
    pub(super) count: Option<u64>,
    /// How well it can be known.
    pub(super) certainty: Option<String>,
    /// What the particulars must name.
    pub(super) says: Option<String>,
}

/// One line of a CPU's timeline.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) cpu: u32,
    pub(super) statement: Statement,
}

/// A scenario as read from its file.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub(super) machine: Machine,
    pub(super) images: Vec<Image>,
    pub(super) labels: BTreeMap<String, u64>,
    pub(super) threads: Vec<Thread>,
    pub(super) pokes: Vec<Poke>,
    pub(super) steps: Vec<Step>,
    pub(super) truth: Vec<Truth>,
}

impl Scenario {
    /// What is switched on in the trace, and the machine's clocks.
    pub fn settings(&self) -> Settings {
        self.machine.settings
    }

    /// Whether any thread is in a control group, so that samples carry them.
    pub(super) fn has_groups(&self) -> bool {
        self.threads.iter().any(|thread| !thread.group.is_empty())
    }

    /// The paths of all control groups, that of the root first; a group's number is its place, from 1. None where no thread is in one.
    pub(super) fn groups(&self) -> Vec<&str> {
        let mut paths = if self.has_groups() { vec!["/"] } else { Vec::new() };
        for path in self.threads.iter().map(|thread| &*thread.group).filter(|path| !path.is_empty()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// The number of the group of the thread at this place.
    pub(super) fn group(&self, thread: usize) -> Option<u64> {
        let own = &*self.threads.get(thread)?.group;
        let own = if own.is_empty() { "/" } else { own };
        self.groups().iter().position(|path| *path == own).map(|place| 1 + place as u64)
    }

    /// The bytes at `address` at time `tsc`, at most 15 of them, and the mode of the code there.
    pub fn code_at(&self, address: u64, tsc: u64) -> Option<(Vec<u8>, u32)> {
        let mut there = self.images.iter().filter(|image| image.holds(address)).peekable();
        // Of code that is written over other code, what was written last; before anything was, what will be first.
        let first = there.peek().copied();
        let image = there.filter(|image| image.from <= tsc).max_by_key(|image| image.from).or(first)?;
        let start = usize::try_from(address - image.address).ok()?;
        let mut bytes: Vec<u8> = image.bytes[start..].iter().take(15).copied().collect();
        for poke in self.pokes.iter().filter(|poke| poke.tsc <= tsc) {
            for (at, &byte) in (poke.address..).zip(&poke.new) {
                let place = at.checked_sub(address).and_then(|place| usize::try_from(place).ok());
                if let Some(place) = place.and_then(|place| bytes.get_mut(place)) {
                    *place = byte;
                }
            }
        }
        Some((bytes, image.bits))
    }
}
