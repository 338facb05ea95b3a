//! What the flow shows of the scheduler when it takes a thread off its CPU: that the tick enforced a lazy request, and that a BPF scheduler has it.
//!
//! Source, `PREEMPT_LAZY` (Linux 6.13): `sched_tick` of `kernel/sched/core.c` itself calls `resched_curr` only where the thread was to be
//! rescheduled lazily and has not been; in other models the scheduling classes do. Source, `sched_ext` (Linux 6.12):
//! `put_prev_task_scx` of `kernel/sched/ext.c` is called for a thread of that class alone. The operations of its scheduler are BPF programs,
//! which kallsyms calls `bpf_prog_<tag>_<name>`; by convention the name is the scheduler's and the operation's (`struct sched_ext_ops`):
//! `simple_stopping`.

use std::sync::Arc;

/// Operations of a BPF scheduler that run while it decides, with what stands between the scheduler's name and them.
const OPERATIONS: [&str; 9] = [
    "_select_cpu",
    "_enqueue",
    "_dequeue",
    "_dispatch",
    "_tick",
    "_runnable",
    "_running",
    "_stopping",
    "_quiescent",
];

/// Digits of a program's tag.
const TAG: usize = 16;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resched {
    /// Whether the tick enforced a lazy request.
    pub(crate) lazily: bool,
    /// The BPF scheduler that has the thread, by name; empty where that is not known.
    pub(crate) by_bpf: Option<Arc<str>>,
}

impl Resched {
    /// Execution reaches the first instruction of the kernel's `function`, called by `caller`.
    pub(super) fn enter<'f>(
        &mut self,
        function: &str,
        in_scheduler: bool,
        caller: impl FnOnce() -> Option<Arc<str>> + 'f,
    ) {
        match function {
            "resched_curr" | "__resched_curr" => {
                self.lazily |= caller().is_some_and(|caller| &*caller == "sched_tick");
            }
            "put_prev_task_scx" if in_scheduler => {
                self.by_bpf.get_or_insert_with(|| Arc::from(""));
            }
            program if self.by_bpf.as_deref() == Some("") => {
                if let Some(name) = scheduler_of(program) {
                    self.by_bpf = Some(name.into());
                }
            }
            _ => {}
        }
    }

    /// The thread comes onto a CPU, or runs user code.
    pub(super) fn run(&mut self) {
        if *self != Resched::default() {
            *self = Resched::default();
        }
    }
}

/// The scheduler whose operation the kernel's `function` is.
fn scheduler_of(function: &str) -> Option<&str> {
    let (tag, name) = function.strip_prefix("bpf_prog_")?.split_once('_')?;
    if tag.len() != TAG || !tag.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    OPERATIONS.iter().find_map(|operation| name.strip_suffix(operation)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use perfdata::{LeaveReason, Schedule};
    use pt::BlockEnd;

    use super::*;
    use crate::testing::script::{Script, Table, WORKER, WRITER, World, run};

    const KERNEL: &[&str] = &[
        "asm_sysvec_apic_timer_interrupt",
        "__schedule",
        "sched_tick",
        "task_tick_rt",
        "resched_curr",
        "put_prev_task_scx",
        "bpf_prog_0123456789abcdef_simple_stopping",
    ];

    /// The tick interrupts `work`; `caller` calls `resched_curr`. On the way out the scheduler calls `scheduler`, and switches to the writer
    /// at 200.
    fn told(caller: &str, scheduler: &[&str]) -> String {
        let table = Table::new(KERNEL, &["work"]);
        let mut script = Script::new(&table);
        script
            .block(0, "work", 0, BlockEnd::FallThrough)
            .interrupt(100, "asm_sysvec_apic_timer_interrupt")
            .block(100, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::Call)
            .block(110, caller, 0, BlockEnd::Call)
            .block(120, "resched_curr", 0, BlockEnd::Return)
            .block(130, caller, Script::AFTER, BlockEnd::Return)
            .block(140, "asm_sysvec_apic_timer_interrupt", Script::AFTER, BlockEnd::Call)
            .block(150, "__schedule", 0, BlockEnd::Call);
        for (at, function) in (160..).zip(scheduler) {
            script.block(at, function, 0, BlockEnd::Call);
        }
        script
            .block(800, "__schedule", 0x40, BlockEnd::Return)
            .block(910, "asm_sysvec_apic_timer_interrupt", 0x40, BlockEnd::FarReturn)
            .block(950, "work", 0x20, BlockEnd::Jump);
        let schedule = Schedule::from_runs(vec![
            run(WORKER, 0, 0, 200, LeaveReason::Preempted),
            run(WRITER, 0, 200, 800, LeaveReason::Preempted),
            run(WORKER, 0, 800, 1000, LeaveReason::Unknown),
        ]);
        let items = script.items.clone();
        let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
        let attribution = crate::attribute_alone(&world.examine(0..1000)).expect("a partition");
        let away = attribution.segments().iter().find(|segment| segment.range.start.0 == 200);
        away.map(|away| away.detail.clone()).expect("away")
    }

    #[test]
    fn what_the_tick_itself_asks_for_was_lazy() {
        let by_whom = "by writer (tid 102) for 0.6 us on CPU 0";
        let lazily = format!("{by_whom}, preempted lazily at the tick, while in work()");
        assert_eq!(told("sched_tick", &[]), lazily);
        assert_eq!(told("task_tick_rt", &[]), format!("{by_whom}, while in work()"));
    }

    #[test]
    fn a_bpf_scheduler_is_named_by_its_operations() {
        let by_whom = "by writer (tid 102) for 0.6 us on CPU 0";
        let program = "bpf_prog_0123456789abcdef_simple_stopping";
        let told = |functions: &[&str]| told("task_tick_rt", functions);
        assert_eq!(
            told(&["put_prev_task_scx", program]),
            format!("{by_whom}, by the sched_ext scheduler simple, while in work()")
        );
        assert_eq!(
            told(&["put_prev_task_scx"]),
            format!("{by_whom}, by a sched_ext scheduler, while in work()")
        );
        // A program of something else, before any decision of such a scheduler.
        assert_eq!(told(&[program]), format!("{by_whom}, while in work()"));
    }

    #[test]
    fn a_programs_name_is_the_schedulers_and_the_operations() {
        let names = [
            "bpf_prog_0123456789abcdef_rusty_enqueue",
            "bpf_prog_0123456789abcdef_my_own_select_cpu",
            "bpf_prog_0123456789abcdef_count_packets",
            "bpf_prog_short_simple_enqueue",
            "bpf_prog_0123456789abcdef__enqueue",
            "enqueue_task_scx",
        ];
        assert_eq!(names.map(scheduler_of), [Some("rusty"), Some("my_own"), None, None, None, None]);
    }
}
