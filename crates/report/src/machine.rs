//! What the machine did around an interval, from its records alone: which thread was on each CPU, and the wake-ups.
//!
//! Offsets are from the interval's begin and lengths in its unit, as those of segments are; runs are cut at the interval's edges.

/// The CPUs of the machine while an interval lasted. Empty where no record shows a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// By number.
    pub cpus: Vec<CpuReport>,
    /// In order of time.
    pub wakeups: Vec<WakeupReport>,
    /// Runs and wake-ups that are left out because there are too many.
    pub left_out: u64,
}

/// Who was on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuReport {
    /// Its number.
    pub cpu: u32,
    /// In order of time, without overlap; holes where nothing is recorded.
    pub runs: Vec<RunReport>,
}

/// A thread on a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// From the interval's start.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
    /// Its process; negative where only the thread is known.
    pub pid: i32,
    /// The thread; zero is the idle task.
    pub tid: i32,
    /// The thread's name then; empty where it is not recorded.
    pub comm: String,
    /// The kernel's priority of it (`prio`), where it is recorded.
    pub priority: Option<i32>,
    /// How it left the CPU, where it did so before the interval's end and the records say how.
    pub left: Option<LeftCpu>,
}

/// How a thread left a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftCpu {
    /// It could have gone on.
    Preempted,
    /// It waits; the kernel's state letter where it is recorded.
    Slept(Option<char>),
    /// It ended.
    Exited,
}

/// A thread that another one, or an interrupt, made ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WakeupReport {
    /// From the interval's start.
    pub offset_ns: u64,
    /// The CPU on which it was done.
    pub cpu: Option<u32>,
    /// The thread that was on that CPU, in whose context it was done.
    pub waker: i32,
    /// The thread that was woken.
    pub target: i32,
    /// The name of the thread that was woken, where it is recorded.
    pub target_comm: String,
    /// The CPU that it was to run on, where it is recorded.
    pub target_cpu: Option<u32>,
    /// Whether the record is in the waker's context: `sched_wakeup` may be in that of the woken thread's CPU.
    pub is_by_waker: bool,
}

impl Machine {
    /// How a thread is named for people: `comp-cfs 122`, `tid 122` without a name, `idle`; not escaped.
    pub fn words(tid: i32, comm: &str) -> String {
        match (tid, comm) {
            (0, _) => "idle".to_owned(),
            (tid, "") => format!("tid {tid}"),
            (tid, comm) => format!("{comm} {tid}"),
        }
    }
}
