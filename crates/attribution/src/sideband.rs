//! The records that explain time, as typed events: what attribution reads of sched, irq, `irq_vectors`, exceptions,
//! `raw_syscalls` and power tracepoints. Field names: the kernel's `include/trace/events/*.h`.

mod classify;

use std::collections::HashMap;
use std::fmt;

use model::{Cpu, Device, FileOffset, PerfTime, ThreadId, Tid, TimeConversion, Tsc, TscRange};
use perfdata::{AuxFlags, PerfData, Record};

use classify::{classify, number};

/// How many records back an open interrupt is looked for: it begins shortly before what happens in it.
const INTERRUPT_SEARCHED: usize = 4096;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The record's thread wakes `target` (`sched_waking`, or `sched_wakeup` where that is all there is).
    Waking {
        /// The thread that will run.
        target: Tid,
        /// Whether the record is in the waker's context: `sched_wakeup` may be in that of the woken CPU.
        by_waker: bool,
    },
    /// A device interrupt's action begins or ends.
    Irq {
        /// The interrupt's number.
        number: u64,
        /// The action's name; only the begin tells it.
        name: Option<String>,
    },
    /// A softirq begins or ends.
    Softirq {
        /// Its vector number.
        vector: u64,
    },
    /// An interrupt of the local APIC begins or ends; its tracepoint's name without `_entry` or `_exit`.
    Vector {
        /// `local_timer`, `reschedule`, `call_function`, …
        name: String,
    },
    /// A system call begins or ends.
    Syscall {
        /// Its number on x86-64.
        number: u64,
        /// Its arguments as far as they are recorded; only the begin tells them.
        arguments: Vec<u64>,
    },
    /// A page fault's handling begins.
    PageFault {
        /// The faulting address.
        address: u64,
    },
    /// The TLB is flushed, or another CPU asked to do it.
    TlbFlush {
        /// What for: `enum tlb_flush_reason` of `include/linux/mm_types.h`.
        reason: u64,
        /// How many pages; all of them where it is the highest number.
        pages: u64,
    },
    /// The CPU enters idle state `Some(n)` or leaves with `None`.
    Idle {
        /// The state's index.
        state: Option<u32>,
    },
    /// The record's thread leaves its CPU; kept where it has a callchain.
    SwitchOut,
    /// A request to a block device.
    Block {
        /// How far it came.
        step: BlockStep,
        /// Which.
        request: Request,
    },
    /// Something happened to a connection that the record's context works on.
    Socket {
        /// Protocol and both ends: "TCP 10.0.0.1:40000 to 10.0.0.2:80".
        connection: String,
    },
    /// PT bytes were lost about here.
    TraceLost {
        /// The flags of the AUX record.
        how: String,
    },
    /// Records were lost before here.
    RecordsLost {
        /// How many.
        count: u64,
    },
}

/// How far a request to a block device came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    /// Into the queue.
    Insert,
    /// To the device.
    Issue,
    /// Done.
    Complete,
}

/// A request to a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Where.
    pub(crate) device: Device,
    /// What that is called, where the capture tells.
    pub(crate) name: Option<String>,
    /// First sector, of 512 bytes.
    pub(crate) sector: u64,
    /// How many sectors.
    pub(crate) sectors: u64,
    /// What it is, in the kernel's letters (`blk_fill_rwbs`): R read, W write, D discard, F flush, S synchronous, M
    /// metadata, A read ahead.
    pub(crate) letters: String,
}

/// Whether a record marks a begin or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The work begins, or happens here.
    Begin,
    /// The work ends.
    End,
}

/// One record that explains time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SidebandEvent {
    /// When.
    pub(crate) time: Tsc,
    /// Where.
    pub(crate) cpu: Option<Cpu>,
    /// In which thread's context.
    pub(crate) thread: Option<ThreadId>,
    /// Where it stands in the file.
    pub(crate) offset: FileOffset,
    /// Begin or end.
    pub(crate) side: Side,
    /// What.
    pub(crate) kind: EventKind,
    /// Return addresses, innermost first, where the record has them.
    pub(crate) chain: Vec<u64>,
}

/// The explaining records around an interval, found by what they are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sideband {
    /// In order of time.
    events: Vec<SidebandEvent>,
    wakings: HashMap<Tid, Vec<usize>>,
    calls: HashMap<Tid, Vec<usize>>,
    idle: HashMap<Cpu, Vec<usize>>,
}

impl Sideband {
    /// Sorts `events` by time and by what they are about.
    pub(crate) fn new(mut events: Vec<SidebandEvent>) -> Sideband {
        events.sort_by_key(|event| event.time);
        let mut sideband = Sideband::default();
        for (index, event) in events.iter().enumerate() {
            match (&event.kind, event.thread, event.cpu) {
                (EventKind::Waking { target, .. }, ..) => {
                    sideband.wakings.entry(*target).or_default().push(index);
                }
                (EventKind::Syscall { .. }, Some(thread), _) => {
                    sideband.calls.entry(thread.tid).or_default().push(index);
                }
                (EventKind::Idle { .. }, _, Some(cpu)) => sideband.idle.entry(cpu).or_default().push(index),
                _ => {}
            }
        }
        sideband.events = events;
        sideband
    }

    /// These, and `more`.
    pub(crate) fn with(mut self, more: Vec<SidebandEvent>) -> Sideband {
        if more.is_empty() {
            return self;
        }
        self.events.extend(more);
        Sideband::new(self.events)
    }

    /// The callchain of the record at `offset`, made when a thread left its CPU at `at`.
    pub(crate) fn callchain(&self, offset: FileOffset, at: Tsc) -> Option<&[u64]> {
        let from = self.events.partition_point(|event| event.time < at);
        let same_time = self.events[from..].iter().take_while(|event| event.time == at);
        same_time
            .into_iter()
            .find(|event| event.offset == offset && event.kind == EventKind::SwitchOut)
            .map(|event| &*event.chain)
    }

    /// All, in order of time.
    pub(crate) fn events(&self) -> &[SidebandEvent] {
        &self.events
    }

    /// The wake-ups of `target` within `range`.
    pub(crate) fn wakings(&self, target: Tid, range: TscRange) -> impl Iterator<Item = &SidebandEvent> {
        self.about(self.wakings.get(&target), range.start).take_while(move |event| event.time < range.stop)
    }

    /// The system call that thread `tid` was in at `at`: its last record is a `sys_enter`.
    pub(crate) fn call_at(&self, tid: Tid, at: Tsc) -> Option<&SidebandEvent> {
        let of_thread = self.calls.get(&tid)?;
        let later = of_thread.partition_point(|&index| self.events[index].time <= at);
        let last = &self.events[of_thread[later.checked_sub(1)?]];
        (last.side == Side::Begin).then_some(last)
    }

    /// The first record within `range` by which `cpu` leaves idle, and the one by which it had gone idle.
    pub(crate) fn idle_exit(&self, cpu: Cpu, range: TscRange) -> Option<(&SidebandEvent, &SidebandEvent)> {
        let of_cpu = self.idle.get(&cpu)?;
        let from = of_cpu.partition_point(|&index| self.events[index].time < range.start);
        let found = of_cpu[from..].iter().position(|&index| self.events[index].side == Side::End)? + from;
        let awake = &self.events[of_cpu[found]];
        let entered = &self.events[of_cpu[found.checked_sub(1)?]];
        (range.contains(awake.time) && entered.side == Side::Begin).then_some((entered, awake))
    }

    /// The first record that `cpu` made within `range`, behind its begin.
    pub(crate) fn first_on(&self, cpu: Cpu, range: TscRange) -> Option<&SidebandEvent> {
        let from = self.events.partition_point(|event| event.time <= range.start);
        let mut within = self.events[from..].iter().take_while(|event| event.time < range.stop);
        within.find(|event| event.cpu == Some(cpu))
    }

    /// The innermost interrupt or softirq that `cpu` was serving at `at`: begun and not ended.
    pub(crate) fn interrupt_at(&self, cpu: Cpu, at: Tsc) -> Option<&SidebandEvent> {
        let later = self.events.partition_point(|event| event.time <= at);
        let mut ended: Vec<&SidebandEvent> = Vec::new();
        let earlier = self.events[later.saturating_sub(INTERRUPT_SEARCHED)..later].iter().rev();
        for event in earlier.filter(|event| event.cpu == Some(cpu) && event.kind.is_interrupt()) {
            match event.side {
                Side::End => ended.push(event),
                Side::Begin => match ended.iter().position(|end| end.kind.same_work(&event.kind)) {
                    Some(index) => drop(ended.swap_remove(index)),
                    None => return Some(event),
                },
            }
        }
        None
    }

    fn about(&self, index: Option<&Vec<usize>>, from: Tsc) -> impl Iterator<Item = &SidebandEvent> {
        let index = index.map_or(&[][..], Vec::as_slice);
        let first = index.partition_point(|&at| self.events[at].time < from);
        index[first..].iter().map(|&at| &self.events[at])
    }
}

impl EventKind {
    /// Whether it runs in interrupt context.
    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(self, EventKind::Irq { .. } | EventKind::Softirq { .. } | EventKind::Vector { .. })
    }

    /// Whether two records are about the same piece of work: one may be the other's end.
    pub(crate) fn same_work(&self, other: &EventKind) -> bool {
        match (self, other) {
            (EventKind::Irq { number: a, .. }, EventKind::Irq { number: b, .. })
            | (EventKind::Softirq { vector: a }, EventKind::Softirq { vector: b })
            | (EventKind::Syscall { number: a, .. }, EventKind::Syscall { number: b, .. }) => a == b,
            (EventKind::Vector { name: a }, EventKind::Vector { name: b }) => a == b,
            _ => false,
        }
    }
}

impl Request {
    /// What identifies it while it is under way.
    pub(crate) fn key(&self) -> (Device, u64) {
        (self.device, self.sector)
    }
}

impl fmt::Display for Request {
    /// "read of 8 sectors at 2048 on device 254:0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.letters.trim_start_matches('F').chars().next() {
            Some('R') => "read",
            Some('W') => "write",
            Some('D') => "discard",
            _ if self.letters.starts_with('F') => "flush",
            _ => "request",
        };
        let device = self.device.called(self.name.as_deref());
        write!(f, "{what} of {} sectors at {} on device {device}", self.sectors, self.sector)
    }
}

/// What a record says was lost. An overwritten snapshot ring is no loss.
fn loss(record: &Record<'_>) -> Option<EventKind> {
    match record {
        Record::Aux { flags, .. } if flags.means_loss() => Some(EventKind::TraceLost { how: how(*flags) }),
        Record::Lost { lost, .. } | Record::LostSamples { lost } => {
            Some(EventKind::RecordsLost { count: *lost })
        }
        _ => None,
    }
}

fn how(flags: AuxFlags) -> String {
    let words = [
        (AuxFlags::TRUNCATED, "truncated, the buffer was full"),
        (AuxFlags::PARTIAL, "partial, tracing paused"),
        (AuxFlags::COLLISION, "a sample collided with another one"),
    ];
    let told = words.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, words)| *words);
    told.collect::<Vec<_>>().join("; ")
}

/// The explaining records within `range`, in order of time.
pub(crate) fn events_within(
    perf: &PerfData,
    range: TscRange,
    conversion: TimeConversion,
) -> Vec<SidebandEvent> {
    let from = conversion.to_perf_time(range.start);
    let to = PerfTime(conversion.to_perf_time(range.stop).0.saturating_add(1));
    perf.records_in(from..to)
        .filter_map(|timed| {
            let (side, mut kind) = match &timed.record {
                Record::Sample(sample) => classify(sample)?,
                record => (Side::Begin, loss(record)?),
            };
            if let EventKind::Block { request, .. } = &mut kind {
                request.name = perf.numa().name_of(request.device);
            }
            let (cpu, chain) = match (&timed.record, &kind) {
                (Record::Sample(sample), EventKind::Idle { .. }) => {
                    let cpu = number(sample, "cpu_id").and_then(|id| u32::try_from(id).ok()).map(Cpu);
                    (cpu, Vec::new())
                }
                (Record::Sample(sample), EventKind::SwitchOut | EventKind::Waking { .. }) => {
                    (timed.cpu, sample.callchain_addresses().collect())
                }
                _ => (timed.cpu, Vec::new()),
            };
            let time = conversion.to_tsc(timed.time?);
            Some(SidebandEvent { time, cpu, thread: timed.thread, offset: timed.offset, side, kind, chain })
        })
        .collect()
}
