//! The closed list of causes: why time passed. One tick has one cause.
//!
//! The dotted names are the contract of every output format; `docs/causes.md` describes each.

use std::fmt;

/// Why a page fault took the time it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The page was in memory, or could be made without I/O.
    Minor,
    /// The thread slept for I/O while the fault was handled.
    Major,
}

/// Why a thread was not on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffCpu {
    /// Runnable, but the scheduler ran another thread here.
    Preempted,
    /// Woken, not yet running: run-queue wait.
    Runnable,
    /// Waited for a lock (futex).
    Lock,
    /// Waited for a socket.
    Socket,
    /// Waited for a block device.
    BlockIo,
    /// Slept for a time it had chosen.
    Sleep,
    /// Waited in poll, select or epoll.
    Poll,
    /// Waited for something the capture does not name.
    Other,
}

/// Why the same path took longer than in the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slower {
    /// The core ran at a lower ratio.
    Frequency,
    /// The front end starved.
    FrontEnd,
    /// No better reason is known: memory, NUMA, SMT.
    Other,
}

/// Why a tick of an interval passed.
// Exhaustive: a new cause must not compile before report and attribution handle it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// User code ran as the baseline does.
    UserExpected,
    /// User code ran that the baseline lacks.
    UserExtraWork,
    /// The same user code took more ticks.
    UserSlower(Slower),
    /// A loop that waits for another thread ran longer than in the baseline.
    UserSpin,
    /// A system call ran, by its name (`read`), net of what interrupted it.
    Syscall(String),
    /// A page fault was handled.
    PageFault(FaultKind),
    /// A device interrupt was handled, by the name of its action (`nvme0q1`).
    Irq(String),
    /// The local timer's interrupt was handled.
    Timer,
    /// An inter-processor interrupt was handled, by what for (`reschedule`, `call-function`).
    Ipi(String),
    /// A softirq ran, by its kernel name in lower case (`net_rx`).
    Softirq(String),
    /// A non-maskable interrupt was handled.
    Nmi,
    /// The scheduler switched threads.
    Schedule,
    /// A loop of the kernel waited for a lock that another CPU held.
    KernelSpin,
    /// A kernel thread did its own work, by its kind (`kworker`).
    KernelThread(String),
    /// In the kernel, for an unknown reason.
    KernelUnknown,
    /// Not on a CPU.
    OffCpu(OffCpu),
    /// Waking an idle CPU from the named state (`C6`).
    CStateExit(String),
    /// The core stalled while its ratio changed.
    FrequencySwitch,
    /// A garbage collector ran or stopped the thread, by its runtime (`jvm`).
    Gc(String),
    /// A thread of a language runtime's scheduler had nothing to run, by its runtime (`go`).
    Idle(String),
    /// The stop thread was still busy with another interval.
    QueueBehind,
    /// The interval's task could go on, and no worker of its runtime had polled it yet.
    QueueRuntime,
    /// Time passed between two instructions and nothing the machine records explains it.
    HardwareGap,
    /// Packets or records were lost.
    TraceLoss,
    /// Tracing was off because the recording requested it.
    TraceFiltered,
    /// Nothing claims it.
    Unexplained,
}

impl Cause {
    /// Every cause there is; the names that a capture gives are empty, so that these end in a dot.
    pub fn all() -> Vec<Cause> {
        let slower = [Slower::Frequency, Slower::FrontEnd, Slower::Other].map(Cause::UserSlower);
        let faults = [FaultKind::Minor, FaultKind::Major].map(Cause::PageFault);
        let waits = [
            OffCpu::Preempted,
            OffCpu::Runnable,
            OffCpu::Lock,
            OffCpu::Socket,
            OffCpu::BlockIo,
            OffCpu::Sleep,
            OffCpu::Poll,
            OffCpu::Other,
        ];
        let open = [
            Cause::Syscall,
            Cause::Irq,
            Cause::Ipi,
            Cause::Softirq,
            Cause::KernelThread,
            Cause::CStateExit,
            Cause::Gc,
            Cause::Idle,
        ];
        let single = [
            Cause::UserExpected,
            Cause::UserExtraWork,
            Cause::UserSpin,
            Cause::Timer,
            Cause::Nmi,
            Cause::Schedule,
            Cause::KernelSpin,
            Cause::KernelUnknown,
            Cause::FrequencySwitch,
            Cause::QueueBehind,
            Cause::QueueRuntime,
            Cause::HardwareGap,
            Cause::TraceLoss,
            Cause::TraceFiltered,
            Cause::Unexplained,
        ];
        let open = open.map(|cause: fn(String) -> Cause| cause(String::new()));
        let waits = waits.map(Cause::OffCpu);
        single.into_iter().chain(slower).chain(faults).chain(waits).chain(open).collect()
    }

    /// Whether the kernel ran on the thread's CPU: its name begins with `kernel.`.
    pub fn is_kernel(&self) -> bool {
        match self {
            Cause::Syscall(_)
            | Cause::PageFault(_)
            | Cause::Irq(_)
            | Cause::Timer
            | Cause::Ipi(_)
            | Cause::Softirq(_)
            | Cause::Nmi
            | Cause::Schedule
            | Cause::KernelSpin
            | Cause::KernelThread(_)
            | Cause::KernelUnknown => true,
            Cause::UserExpected
            | Cause::UserExtraWork
            | Cause::UserSlower(_)
            | Cause::UserSpin
            | Cause::OffCpu(_)
            | Cause::CStateExit(_)
            | Cause::FrequencySwitch
            | Cause::Gc(_)
            | Cause::Idle(_)
            | Cause::QueueBehind
            | Cause::QueueRuntime
            | Cause::HardwareGap
            | Cause::TraceLoss
            | Cause::TraceFiltered
            | Cause::Unexplained => false,
        }
    }
}

impl fmt::Display for Cause {
    /// The dotted name: `kernel.page-fault.minor`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::UserExpected => f.write_str("user.expected"),
            Cause::UserExtraWork => f.write_str("user.extra-work"),
            Cause::UserSlower(Slower::Frequency) => f.write_str("user.slower.frequency"),
            Cause::UserSlower(Slower::FrontEnd) => f.write_str("user.slower.front-end"),
            Cause::UserSlower(Slower::Other) => f.write_str("user.slower.other"),
            Cause::UserSpin => f.write_str("user.spin"),
            Cause::Syscall(name) => write!(f, "kernel.syscall.{name}"),
            Cause::PageFault(FaultKind::Minor) => f.write_str("kernel.page-fault.minor"),
            Cause::PageFault(FaultKind::Major) => f.write_str("kernel.page-fault.major"),
            Cause::Irq(name) => write!(f, "kernel.irq.{name}"),
            Cause::Timer => f.write_str("kernel.timer"),
            Cause::Ipi(what) => write!(f, "kernel.ipi.{what}"),
            Cause::Softirq(name) => write!(f, "kernel.softirq.{name}"),
            Cause::Nmi => f.write_str("kernel.nmi"),
            Cause::Schedule => f.write_str("kernel.schedule"),
            Cause::KernelSpin => f.write_str("kernel.spin"),
            Cause::KernelThread(kind) => write!(f, "kernel.thread.{kind}"),
            Cause::KernelUnknown => f.write_str("kernel.unknown"),
            Cause::OffCpu(kind) => write!(f, "offcpu.{}", kind.name()),
            Cause::CStateExit(state) => write!(f, "power.c-state-exit.{state}"),
            Cause::FrequencySwitch => f.write_str("power.frequency-switch"),
            Cause::Gc(runtime) => write!(f, "runtime.gc.{runtime}"),
            Cause::Idle(runtime) => write!(f, "runtime.idle.{runtime}"),
            Cause::QueueBehind => f.write_str("queue.behind"),
            Cause::QueueRuntime => f.write_str("queue.runtime"),
            Cause::HardwareGap => f.write_str("hardware.gap"),
            Cause::TraceLoss => f.write_str("trace.loss"),
            Cause::TraceFiltered => f.write_str("trace.filtered"),
            Cause::Unexplained => f.write_str("unexplained"),
        }
    }
}

impl OffCpu {
    /// The last part of the dotted name.
    pub fn name(self) -> &'static str {
        match self {
            OffCpu::Preempted => "preempted",
            OffCpu::Runnable => "runnable",
            OffCpu::Lock => "lock",
            OffCpu::Socket => "socket",
            OffCpu::BlockIo => "block-io",
            OffCpu::Sleep => "sleep",
            OffCpu::Poll => "poll",
            OffCpu::Other => "other",
        }
    }
}
