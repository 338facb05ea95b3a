//! The records that explain time, as typed events: what attribution reads of sched, irq, `irq_vectors`, exceptions,
//! `raw_syscalls` and power tracepoints. Field names: the kernel's `include/trace/events/*.h`.

use std::fmt;
use std::sync::Arc;

use model::{Cpu, Device, FileOffset, ThreadId, Tid, Tsc};

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The record's thread wakes `target` (`sched_waking`, or `sched_wakeup` where only that was recorded).
    Waking {
        /// The thread that will run.
        target: Tid,
        /// Whether the record is in the waker's context: `sched_wakeup` may be in that of the woken thread's CPU.
        by_waker: bool,
    },
    /// `target` is moved to the run queue of another CPU (`sched_migrate_task`).
    Migration {
        /// The thread that moves.
        target: Tid,
        /// The CPU whose run queue it leaves.
        from: Cpu,
        /// The CPU on which it can run next.
        to: Cpu,
    },
    /// A device interrupt's action begins or ends.
    Irq {
        /// The interrupt's number.
        number: u64,
        /// The action's name; only the begin record has it.
        name: Option<String>,
    },
    /// A softirq begins or ends.
    Softirq {
        /// Its vector number.
        vector: u64,
    },
    /// A softirq is requested: it runs at the end of the interrupt or of the critical section that requested it.
    SoftirqRaise {
        /// Its vector number.
        vector: u64,
    },
    /// An interrupt of the local APIC begins or ends; its tracepoint's name without `_entry` or `_exit`.
    Vector {
        /// `local_timer`, `reschedule`, `call_function`, …
        name: Arc<str>,
    },
    /// A system call begins or ends.
    Syscall {
        /// Its number on x86-64.
        number: u64,
        /// Its arguments as far as they are recorded; of an end record, the result alone.
        arguments: Arguments,
    },
    /// A page fault's handling begins.
    PageFault {
        /// The faulting address.
        address: u64,
        /// The error code, where it was recorded (SDM vol. 3, "Interrupt 14": bit 0 present, bit 1 write).
        error_code: Option<u64>,
    },
    /// The TLB is flushed, or another CPU is requested to flush it.
    TlbFlush {
        /// The reason: `enum tlb_flush_reason` of `include/linux/mm_types.h`.
        reason: u64,
        /// How many pages; the highest number means all of them.
        pages: u64,
    },
    /// An IPI is sent (`ipi_send_cpu`, `ipi_send_cpumask`).
    IpiSend {
        /// To these CPUs.
        to: Vec<Cpu>,
        /// Whether it requests that a function be called; else that the CPU reschedule.
        calls: bool,
    },
    /// The CPU enters idle state `Some(n)` or leaves with `None`.
    Idle {
        /// The state's index.
        state: Option<u32>,
    },
    /// The record's thread leaves its CPU; kept only if it has a callchain.
    SwitchOut,
    /// `target` is back on a CPU, and was off it for so long; its callchain is that of its user code.
    OffCpu {
        /// The thread.
        target: Tid,
        /// For how many nanoseconds.
        ns: u64,
    },
    /// The user's part of the callchains with the record's cookie, taken when the thread left the kernel.
    UserChain,
    /// A request to a block device.
    Block {
        /// Its stage.
        step: BlockStep,
        /// The request.
        request: Request,
    },
    /// An event of a connection that the record's context works on.
    Socket {
        /// Protocol and both ends: "TCP 10.0.0.1:40000 to 10.0.0.2:80".
        connection: String,
    },
    /// The kernel's osnoise tracer measured what took a CPU from the thread that it watches; the record is made when that ends.
    Noise {
        /// What it was.
        of: Noise,
        /// For how many nanoseconds, without what interrupted it.
        ns: u64,
    },
    /// PT bytes were lost near here.
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

/// What the osnoise tracer measures. Source: `kernel/trace/trace_osnoise.c` (Linux 5.14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// A thread ran, other than the one that is watched; where none is (`NO_OSNOISE_WORKLOAD`), any thread.
    Thread {
        /// The thread.
        tid: Tid,
        /// Its name.
        comm: String,
    },
    /// A softirq ran.
    Softirq {
        /// Its vector number.
        vector: u64,
    },
    /// An interrupt was served.
    Irq {
        /// The name of a device's action, else that of the vector as `irq_vectors` has it.
        name: String,
    },
    /// An NMI was served.
    Nmi,
    /// None of these, and the thread that reads the clock did not run: the hardware's.
    Hardware,
}

impl Noise {
    /// Whether it takes time of `other` where it begins within it: then the measure of `other` is without it.
    pub(crate) fn interrupts(&self, other: &Noise) -> bool {
        let order = |noise: &Noise| match noise {
            Noise::Hardware | Noise::Thread { .. } => 0,
            Noise::Softirq { .. } => 1,
            Noise::Irq { .. } => 2,
            Noise::Nmi => 3,
        };
        order(self) > order(other)
    }
}

/// The arguments of a system call, without memory of their own: most records are about calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    values: [u64; Arguments::MOST],
    count: usize,
}

impl Arguments {
    /// No call has more.
    const MOST: usize = 6;

    /// Of eight bytes each, in the order of the kernel's array.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Arguments {
        bytes.as_chunks::<8>().0.iter().copied().map(u64::from_le_bytes).collect()
    }
}

impl std::ops::Deref for Arguments {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.values[..self.count]
    }
}

impl From<Vec<u64>> for Arguments {
    fn from(all: Vec<u64>) -> Arguments {
        all.into_iter().collect()
    }
}

impl FromIterator<u64> for Arguments {
    fn from_iter<T: IntoIterator<Item = u64>>(all: T) -> Arguments {
        let mut arguments = Arguments::default();
        for (place, value) in arguments.values.iter_mut().zip(all) {
            *place = value;
            arguments.count += 1;
        }
        arguments
    }
}

/// The stage of a request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    /// Queued.
    Insert,
    /// Issued to the device.
    Issue,
    /// Completed.
    Complete,
}

/// A request to a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The device.
    pub(crate) device: Device,
    /// The device's name, where the capture has it.
    pub(crate) name: Option<String>,
    /// First sector, of 512 bytes.
    pub(crate) sector: u64,
    /// How many sectors.
    pub(crate) sectors: u64,
    /// The operation in the kernel's letters (`blk_fill_rwbs`): R read, W write, D discard, F flush, S synchronous, M
    /// metadata, A read ahead.
    pub(crate) letters: String,
}

/// Whether a record marks a begin or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The work begins, or takes place here.
    Begin,
    /// The work ends.
    End,
}

/// In what context the kernel was when it made a record (`common_flags` of a tracepoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// The current thread's own code.
    Thread,
    /// A softirq, which may run in any thread.
    Softirq,
    /// An interrupt, or an NMI.
    Interrupt,
}

impl Within {
    /// `enum trace_flag_type` of `include/linux/trace_events.h`: HARDIRQ and NMI; SOFTIRQ only while one is served.
    const INTERRUPT: u64 = 0x08 | 0x40;
    const SOFTIRQ: u64 = 0x10;

    /// By the flags. An interrupt may interrupt a softirq: then both are set.
    pub(crate) fn of_flags(flags: u64) -> Within {
        match (flags & Within::INTERRUPT, flags & Within::SOFTIRQ) {
            (0, 0) => Within::Thread,
            (0, _) => Within::Softirq,
            _ => Within::Interrupt,
        }
    }
}

/// Whether the thread on the CPU is to be rescheduled lazily, by `common_flags`, the third byte of a tracepoint's payload (`struct trace_entry`).
pub(crate) fn is_lazy(raw: &[u8]) -> bool {
    const NEED_RESCHED_LAZY: u8 = 0x02;
    /// At once, which goes before.
    const NEED_RESCHED: u8 = 0x04;
    raw.get(2).is_some_and(|flags| flags & (NEED_RESCHED_LAZY | NEED_RESCHED) == NEED_RESCHED_LAZY)
}

/// One record that explains time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SidebandEvent {
    /// The time.
    pub(crate) time: Tsc,
    /// The CPU.
    pub(crate) cpu: Option<Cpu>,
    /// The thread in whose context it was made.
    pub(crate) thread: Option<ThreadId>,
    /// In what context of that thread; `None` where the capture does not show it. Read of wake-ups, migrations
    /// and requests for softirqs.
    pub(crate) within: Option<Within>,
    /// Its position in the file.
    pub(crate) offset: FileOffset,
    /// Begin or end.
    pub(crate) side: Side,
    /// The content.
    pub(crate) kind: EventKind,
    /// Return addresses, innermost first, where the record has them.
    pub(crate) chain: Vec<u64>,
    /// By this a later record of the thread has the user's part of the callchain.
    pub(crate) cookie: Option<u64>,
    /// Whether the thread on the CPU was to be rescheduled lazily then (`TRACE_FLAG_NEED_RESCHED_LAZY`, Linux 6.13).
    pub(crate) lazy: bool,
}

impl EventKind {
    /// Whether it runs in interrupt context.
    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(self, EventKind::Irq { .. } | EventKind::Softirq { .. } | EventKind::Vector { .. })
    }

    /// Whether two records are about the same piece of work: one may be the end of the other.
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
    /// What identifies the work while it is in progress.
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
