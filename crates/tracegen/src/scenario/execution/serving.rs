//! The interrupts and softirqs that the records of a CPU have begun and not ended: the context that the kernel writes
//! into each record.
//!
//! Source: `enum trace_flag_type` of `include/linux/trace_events.h`, `tracing_gen_ctx_irq_test` of
//! `kernel/trace/trace.c`.

const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Serving {
    interrupts: usize,
    softirqs: usize,
}

impl Serving {
    /// The `common_flags` of the record of `point` that is made now. The begin and the end are inside.
    pub(super) fn flags_at(&mut self, point: &str) -> u8 {
        let (group, event) = point.split_once(':').unwrap_or(("", point));
        let open = match (group, event) {
            ("irq_vectors", _) | ("irq", "irq_handler_entry" | "irq_handler_exit") => &mut self.interrupts,
            ("irq", "softirq_entry" | "softirq_exit") => &mut self.softirqs,
            _ => return self.flags(),
        };
        if event.ends_with("_entry") {
            *open += 1;
        }
        let flags = self.flags();
        if event.ends_with("_exit") {
            let open = if event == "softirq_exit" { &mut self.softirqs } else { &mut self.interrupts };
            *open = open.saturating_sub(1);
        }
        flags
    }

    fn flags(&self) -> u8 {
        let flag = |open: usize, flag| if open > 0 { flag } else { 0 };
        flag(self.interrupts, HARDIRQ) | flag(self.softirqs, SOFTIRQ)
    }
}
