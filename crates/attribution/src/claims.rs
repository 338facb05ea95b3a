//! Claims: a source's statement that a stretch of time has a cause. One file per source, and the table that decides
//! between them.
//!
//! | file | claims |
//! | --- | --- |
//! | [`kernel`] | `kernel.*` by the flow's frames, else by pairs of records |
//! | [`noise`] | `kernel.irq.*`, `.softirq.*`, `.nmi`, …, `hardware.gap` as osnoise measured them, where no claim above has them |
//! | [`ipi_senders`] | none of its own: who sent the IPIs of `kernel` |
//! | [`untraced`] | `kernel.*` where only user code was traced |
//! | [`silences`] | `trace.loss`, `trace.filtered`; `hardware.gap` where tracing goes off and on at one instruction |
//! | [`losses`] | `trace.loss` by AUX and LOST records |
//! | [`paused`] | `trace.filtered` where another event had paused the trace |
//! | [`no_flow`] | `trace.filtered` on a CPU, in a recording without a trace |
//! | [`stalls`] | `hardware.gap`, `power.frequency-switch`: no instruction retired |
//! | [`off_cpu`] | `offcpu.*`, and the exit from idle by `cpu_idle` records |
//! | [`power`] | the exit from idle by packets |
//! | [`collectors`] | `runtime.gc.*` of waits |
//! | [`queue`] | `queue.behind` |
//! | [`runtime`] | `queue.runtime`, and `offcpu.*` of tasks that await |
//! | [`spins`] | `user.spin` |
//! | [`strings`] | nothing on its own: it adds what single string instructions took |
//!
//! [`precedence`] is the table, [`partition`] applies it. Imports `tables`, `records`, `inputs`, `walk` and
//! `threads`; `off_cpu` imports the files beside it, none of which imports `off_cpu`.

pub(crate) mod claim;
pub(crate) mod collectors;
pub(crate) mod ipi_senders;
pub(crate) mod kernel;
pub(crate) mod lengths;
pub(crate) mod losses;
pub(crate) mod no_flow;
pub(crate) mod noise;
pub(crate) mod occurrences;
pub(crate) mod off_cpu;
pub(crate) mod partition;
pub(crate) mod paused;
pub(crate) mod power;
pub(crate) mod precedence;
pub(crate) mod queue;
pub(crate) mod runtime;
pub(crate) mod silences;
pub(crate) mod spins;
pub(crate) mod stalls;
pub(crate) mod strings;
pub(crate) mod system_call;
pub(crate) mod untraced;
