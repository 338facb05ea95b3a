//! The records that explain time, as typed events: what attribution reads of sched, irq, `irq_vectors`, exceptions,
//! `raw_syscalls` and power tracepoints. Field names: the kernel's `include/trace/events/*.h`.

use std::collections::HashMap;

use model::{Cpu, FileOffset, PerfTime, ThreadId, Tid, TimeConversion, Tsc, TscRange};
use perfdata::{FieldValue, PerfData, Record, Sample};

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
        /// Its first argument; only the begin tells it.
        first_argument: Option<u64>,
    },
    /// A page fault's handling begins.
    PageFault {
        /// The faulting address.
        address: u64,
    },
    /// The CPU enters idle state `Some(n)` or leaves with `None`.
    Idle {
        /// The state's index.
        state: Option<u32>,
    },
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
            let Record::Sample(sample) = &timed.record else { return None };
            let (side, kind) = classify(sample)?;
            let cpu = match kind {
                EventKind::Idle { .. } => {
                    number(sample, "cpu_id").and_then(|id| u32::try_from(id).ok()).map(Cpu)
                }
                _ => timed.cpu,
            };
            let time = conversion.to_tsc(timed.time?);
            Some(SidebandEvent { time, cpu, thread: timed.thread, offset: timed.offset, side, kind })
        })
        .collect()
}

fn classify(sample: &Sample<'_>) -> Option<(Side, EventKind)> {
    let (group, event) = sample.event_name()?.split_once(':')?;
    let begin = |kind| Some((Side::Begin, kind));
    let end = |kind| Some((Side::End, kind));
    match (group, event) {
        ("sched", "sched_waking" | "sched_wakeup" | "sched_wakeup_new") => begin(EventKind::Waking {
            target: Tid(i32::try_from(number(sample, "pid")?).ok()?),
            by_waker: event == "sched_waking",
        }),
        ("irq", "irq_handler_entry") => {
            begin(EventKind::Irq { number: number(sample, "irq")?, name: text(sample, "name") })
        }
        ("irq", "irq_handler_exit") => end(EventKind::Irq { number: number(sample, "irq")?, name: None }),
        ("irq", "softirq_entry") => begin(EventKind::Softirq { vector: number(sample, "vec")? }),
        ("irq", "softirq_exit") => end(EventKind::Softirq { vector: number(sample, "vec")? }),
        ("raw_syscalls", "sys_enter") => begin(EventKind::Syscall {
            number: number(sample, "id")?,
            first_argument: first_of_array(sample, "args"),
        }),
        ("raw_syscalls", "sys_exit") => {
            end(EventKind::Syscall { number: number(sample, "id")?, first_argument: None })
        }
        ("exceptions", "page_fault_user" | "page_fault_kernel") => {
            begin(EventKind::PageFault { address: number(sample, "address")? })
        }
        ("power", "cpu_idle") => {
            let state = u32::try_from(number(sample, "state")?).ok().filter(|&state| state != u32::MAX);
            Some((if state.is_some() { Side::Begin } else { Side::End }, EventKind::Idle { state }))
        }
        ("irq_vectors", _) => {
            let vector = |name: &str| EventKind::Vector { name: name.to_owned() };
            match event.strip_suffix("_entry") {
                Some(name) => begin(vector(name)),
                None => end(vector(event.strip_suffix("_exit")?)),
            }
        }
        _ => None,
    }
}

fn number(sample: &Sample<'_>, field: &str) -> Option<u64> {
    sample.field(field)?.as_u64()
}

fn text(sample: &Sample<'_>, field: &str) -> Option<String> {
    sample.field(field)?.as_text()
}

/// The first of an array of 64-bit numbers.
fn first_of_array(sample: &Sample<'_>, field: &str) -> Option<u64> {
    match sample.field(field)? {
        FieldValue::Bytes(bytes) => bytes.first_chunk::<8>().copied().map(u64::from_le_bytes),
        _ => None,
    }
}
