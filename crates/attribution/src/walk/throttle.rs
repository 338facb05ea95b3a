//! Whether a thread is taken off its CPU because its control group has used up its CPU quota (`cpu.max`).
//!
//! Source: `kernel/sched/fair.c`. Until 6.17 the scheduler throttles the queue of the thread that it is about to
//! leave: `put_prev_entity` or `pick_next_task_fair`, `check_cfs_rq_runtime`, `throttle_cfs_rq`, `tg_throttle_down`.
//! Since then the thread throttles itself on its way back to user code, `throttle_cfs_rq_work`. In other places (a
//! thread woken into a queue without runtime) it is another thread's queue.

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    happened: bool,
}

impl Throttle {
    /// Execution reaches the first instruction of the kernel's `function`.
    pub(super) fn enter(&mut self, function: &str, in_scheduler: bool) {
        self.happened |= match function {
            "throttle_cfs_rq" | "tg_throttle_down" => in_scheduler,
            "throttle_cfs_rq_work" => true,
            _ => false,
        };
    }

    /// The thread comes onto a CPU, or runs user code.
    pub(super) fn run(&mut self) {
        self.happened = false;
    }

    /// Whether it was throttled since then.
    pub(super) fn happened(&self) -> bool {
        self.happened
    }
}

#[cfg(test)]
mod tests {
    use perfdata::{LeaveReason, Schedule};
    use pt::BlockEnd;

    use crate::testing::script::{IDLE, Script, Table, WORKER, World, run};

    /// The tick finds at 100 that the worker's time slice is used up; on the exit path the kernel is in `caller`,
    /// which calls `function`. Switched out at 200, back at 800, and off the CPU again from 830 to 900. The report on
    /// the absence from `at` on.
    fn told(caller: &str, function: &str, at: u64) -> (String, String) {
        let kernel = &[
            "asm_sysvec_apic_timer_interrupt",
            "__schedule",
            "enqueue_entity",
            "tg_throttle_down",
            "throttle_cfs_rq_work",
        ];
        let table = Table::new(kernel, &["work"]);
        let mut script = Script::new(&table);
        script
            .block(0, "work", 0, BlockEnd::FallThrough)
            .interrupt(100, "asm_sysvec_apic_timer_interrupt")
            .block(100, "asm_sysvec_apic_timer_interrupt", 0, BlockEnd::Call)
            .block(120, caller, 0, BlockEnd::Call)
            .block(140, function, 0, BlockEnd::Return)
            .block(160, caller, Script::AFTER, BlockEnd::Return)
            .block(170, "asm_sysvec_apic_timer_interrupt", Script::AFTER, BlockEnd::Call)
            .block(180, "__schedule", 0, BlockEnd::FallThrough)
            .block(800, "__schedule", 0x40, BlockEnd::Return)
            .block(910, "asm_sysvec_apic_timer_interrupt", 0x40, BlockEnd::FarReturn)
            .block(950, "work", 0x20, BlockEnd::Jump);
        let schedule = Schedule::from_runs(vec![
            run(WORKER, 0, 0, 200, LeaveReason::Preempted),
            run(IDLE, 0, 200, 800, LeaveReason::Preempted),
            run(WORKER, 0, 800, 830, LeaveReason::Preempted),
            run(IDLE, 0, 830, 900, LeaveReason::Preempted),
            run(WORKER, 0, 900, 1000, LeaveReason::Unknown),
        ]);
        let items = script.items.clone();
        let world = World { table: &table, schedule, records: Vec::new(), items, kernel_traced: true };
        let attribution = crate::attribute_alone(&world.examine(0..1000)).expect("a partition");
        let away = attribution.segments().iter().find(|segment| segment.range.start.0 == at);
        away.map(|away| (away.cause.to_string(), away.detail.clone())).expect("away")
    }

    #[test]
    fn who_has_used_up_its_quota_is_throttled() {
        let throttled = "throttled by its cgroup CPU quota (cpu.max), while in work()";
        for (caller, function) in
            [("__schedule", "tg_throttle_down"), ("asm_sysvec_apic_timer_interrupt", "throttle_cfs_rq_work")]
        {
            assert_eq!(
                told(caller, function, 200),
                ("offcpu.runnable".into(), throttled.into()),
                "{function}"
            );
        }
    }

    #[test]
    fn another_threads_queue_is_not_its_own() {
        let (cause, detail) = told("enqueue_entity", "tg_throttle_down", 200);
        assert_eq!(cause, "offcpu.runnable");
        assert!(detail.starts_with("switched out runnable, but CPU 0 was idle"), "{detail}");
    }

    #[test]
    fn who_is_back_is_not_throttled_for_what_was() {
        let (_, detail) = told("__schedule", "tg_throttle_down", 830);
        assert!(detail.starts_with("switched out runnable, but CPU 0 was idle"), "{detail}");
    }
}
