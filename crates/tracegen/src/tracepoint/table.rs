//! The tracepoints that scenarios may record, as the format files of Linux 6.1 on x86-64 list them.
//!
//! Source: `/sys/kernel/tracing/events/*/*/format`; include/trace/events/{sched,irq,power,block,kmem,nmi,osnoise}.h,
//! arch/x86/include/asm/trace/{`irq_vectors`,exceptions}.h.

use super::Layout::{I32, I64, Located, Text, U32, U64, Words};
use super::{Field, Tracepoint};

/// The fields that each tracepoint begins with.
pub(super) const COMMON: &str = "\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
";

/// Layout of a page of the kernel's own trace buffer; perf reads it and needs it for nothing here.
pub(super) const HEADER_PAGE: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
";

/// The same, of an entry in such a page.
pub(super) const HEADER_EVENT: &str = "\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// The default priority of a thread (nice 0).
const USUAL: u64 = 120;

const WAKING: &[Field] = &[
    ("char comm[16]", Text(16), 0),
    ("pid_t pid", I32, 0),
    ("int prio", I32, USUAL),
    ("int target_cpu", I32, 0),
];
const WAKING_PRINT: &str =
    r#""comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu"#;

const MIGRATE: &[Field] = &[
    ("char comm[16]", Text(16), 0),
    ("pid_t pid", I32, 0),
    ("int prio", I32, USUAL),
    ("int orig_cpu", I32, 0),
    ("int dest_cpu", I32, 0),
];
const MIGRATE_PRINT: &str = r#""comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu"#;

const SWITCH: &[Field] = &[
    ("char prev_comm[16]", Text(16), 0),
    ("pid_t prev_pid", I32, 0),
    ("int prev_prio", I32, USUAL),
    ("long prev_state", I64, 0),
    ("char next_comm[16]", Text(16), 0),
    ("pid_t next_pid", I32, 0),
    ("int next_prio", I32, USUAL),
];
/// `TASK_REPORT_MAX` written out, as the kernel's macros do it.
const SWITCH_PRINT: &str = r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm, REC->next_pid, REC->next_prio"#;

const SOFTIRQ: &[Field] = &[("unsigned int vec", U32, 0)];
const SOFTIRQ_PRINT: &str = r#""vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 2, "NET_TX" }, { 3, "NET_RX" }, { 4, "BLOCK" }, { 5, "IRQ_POLL" }, { 6, "TASKLET" }, { 7, "SCHED" }, { 8, "HRTIMER" }, { 9, "RCU" })"#;

const POWER: &[Field] = &[("u32 state", U32, 0), ("u32 cpu_id", U32, 0)];
const POWER_PRINT: &str = r#""state=%lu cpu_id=%lu", (unsigned long)REC->state, (unsigned long)REC->cpu_id"#;

const FAULT: &[Field] =
    &[("unsigned long address", U64, 0), ("unsigned long ip", U64, 0), ("unsigned long error_code", U64, 0)];
const FAULT_PRINT: &str =
    r#""address=%ps ip=%ps error_code=0x%lx", (void *)REC->address, (void *)REC->ip, REC->error_code"#;

/// Vectors: `arch/x86/include/asm/irq_vectors.h`.
const LOCAL_TIMER: &[Field] = &[("int vector", I32, 0xec)];
const RESCHEDULE: &[Field] = &[("int vector", I32, 0xfd)];
const CALL_FUNCTION: &[Field] = &[("int vector", I32, 0xfc)];
const CALL_FUNCTION_SINGLE: &[Field] = &[("int vector", I32, 0xfb)];
const IRQ_WORK: &[Field] = &[("int vector", I32, 0xf6)];
const VECTOR_PRINT: &str = r#""vector=%d", REC->vector"#;

const ISSUE: &[Field] = &[
    ("dev_t dev", U32, 0),
    ("sector_t sector", U64, 0),
    ("unsigned int nr_sector", U32, 0),
    ("unsigned int bytes", U32, 0),
    ("char rwbs[8]", Text(8), 0),
    ("char comm[16]", Text(16), 0),
    ("__data_loc char[] cmd", Located, 0),
];
const ISSUE_PRINT: &str = r#""%d,%d %s %u (%s) %llu + %u [%s]", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, REC->bytes, __get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, REC->comm"#;

const COMPLETE: &[Field] = &[
    ("dev_t dev", U32, 0),
    ("sector_t sector", U64, 0),
    ("unsigned int nr_sector", U32, 0),
    ("int error", I32, 0),
    ("char rwbs[8]", Text(8), 0),
    ("__data_loc char[] cmd", Located, 0),
];
const COMPLETE_PRINT: &str = r#""%d,%d %s (%s) %llu + %u [%d]", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, __get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, REC->error"#;

const IRQ_ENTRY: &[Field] = &[("int irq", I32, 0), ("__data_loc char[] name", Located, 0)];
const IRQ_ENTRY_PRINT: &str = r#""irq=%d name=%s", REC->irq, __get_str(name)"#;
const IRQ_EXIT: &[Field] = &[("int irq", I32, 0), ("int ret", I32, 1)];
const IRQ_EXIT_PRINT: &str = r#""irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled""#;

const ENTER: &[Field] = &[("long id", I64, 0), ("unsigned long args[6]", Words(6), 0)];
const ENTER_PRINT: &str = r#""NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)", REC->id, REC->args[0], REC->args[1], REC->args[2], REC->args[3], REC->args[4], REC->args[5]"#;
const EXIT: &[Field] = &[("long id", I64, 0), ("long ret", I64, 0)];
const EXIT_PRINT: &str = r#""NR %ld = %ld", REC->id, REC->ret"#;

/// A probe of perf-probe(1) on `getname_flags` with the name as a string, as `kernel/trace/trace_probe.c` writes it.
const GETNAME: &[Field] =
    &[("unsigned long __probe_ip", U64, 0xffff_ffff_8140_0000), ("__data_loc char[] pathname", Located, 0)];
const GETNAME_PRINT: &str = r#""(%lx) pathname=\"%s\"", REC->__probe_ip, __get_str(pathname)"#;

/// The print format leaves out the address of `struct page` and the flags' names.
const PAGE: &[Field] = &[
    ("unsigned long pfn", U64, 0),
    ("unsigned int order", U32, 0),
    ("unsigned long gfp_flags", U64, 0),
    ("int migratetype", I32, 0),
];
const PAGE_PRINT: &str = r#""pfn=0x%lx order=%d migratetype=%d", REC->pfn, REC->order, REC->migratetype"#;

const NMI: &[Field] = &[("void * handler", U64, 0), ("s64 delta_ns", I64, 0), ("int handled", I32, 1)];
const NMI_PRINT: &str = r#""%ps() delta_ns: %lld handled: %d", REC->handler, REC->delta_ns, REC->handled"#;

/// The print formats of osnoise leave out the seconds of `start`: the kernel writes their division out in C.
const THREAD_NOISE: &[Field] =
    &[("char comm[16]", Text(16), 0), ("u64 start", U64, 0), ("u64 duration", U64, 0), ("pid_t pid", I32, 0)];
const THREAD_NOISE_PRINT: &str =
    r#""%8s:%d start %llu duration %llu ns", REC->comm, REC->pid, REC->start, REC->duration"#;
const SOFTIRQ_NOISE: &[Field] = &[("u64 start", U64, 0), ("u64 duration", U64, 0), ("int vector", I32, 0)];
const SOFTIRQ_NOISE_PRINT: &str =
    r#""%8d start %llu duration %llu ns", REC->vector, REC->start, REC->duration"#;
const IRQ_NOISE: &[Field] = &[
    ("u64 start", U64, 0),
    ("u64 duration", U64, 0),
    ("__data_loc char[] desc", Located, 0),
    ("int vector", I32, 0),
];
const IRQ_NOISE_PRINT: &str =
    r#""%s:%d start %llu duration %llu ns", __get_str(desc), REC->vector, REC->start, REC->duration"#;
const NMI_NOISE: &[Field] = &[("u64 start", U64, 0), ("u64 duration", U64, 0)];
const NMI_NOISE_PRINT: &str = r#""start %llu duration %llu ns", REC->start, REC->duration"#;
const SAMPLE_THRESHOLD: &[Field] =
    &[("u64 start", U64, 0), ("u64 duration", U64, 0), ("u64 interference", U64, 0)];
const SAMPLE_THRESHOLD_PRINT: &str =
    r#""start %llu duration %llu ns interference %llu", REC->start, REC->duration, REC->interference"#;

const fn point(name: &'static str, id: u16, fields: &'static [Field], print: &'static str) -> Tracepoint {
    Tracepoint { name, id, fields, print }
}

/// Name, number, fields, print format.
pub(super) const POINTS: &[Tracepoint] = &[
    point("sched:sched_migrate_task", 313, MIGRATE, MIGRATE_PRINT),
    point("sched:sched_switch", 314, SWITCH, SWITCH_PRINT),
    point("sched:sched_wakeup_new", 315, WAKING, WAKING_PRINT),
    point("sched:sched_wakeup", 316, WAKING, WAKING_PRINT),
    point("sched:sched_waking", 317, WAKING, WAKING_PRINT),
    point("irq:softirq_raise", 143, SOFTIRQ, SOFTIRQ_PRINT),
    point("irq:softirq_exit", 144, SOFTIRQ, SOFTIRQ_PRINT),
    point("irq:softirq_entry", 145, SOFTIRQ, SOFTIRQ_PRINT),
    point("irq:irq_handler_exit", 146, IRQ_EXIT, IRQ_EXIT_PRINT),
    point("irq:irq_handler_entry", 147, IRQ_ENTRY, IRQ_ENTRY_PRINT),
    point("power:cpu_idle", 467, POWER, POWER_PRINT),
    point("power:cpu_frequency", 459, POWER, POWER_PRINT),
    point("exceptions:page_fault_kernel", 112, FAULT, FAULT_PRINT),
    point("exceptions:page_fault_user", 113, FAULT, FAULT_PRINT),
    point("irq_vectors:call_function_single_exit", 73, CALL_FUNCTION_SINGLE, VECTOR_PRINT),
    point("irq_vectors:call_function_single_entry", 74, CALL_FUNCTION_SINGLE, VECTOR_PRINT),
    point("irq_vectors:call_function_exit", 75, CALL_FUNCTION, VECTOR_PRINT),
    point("irq_vectors:call_function_entry", 76, CALL_FUNCTION, VECTOR_PRINT),
    point("irq_vectors:reschedule_exit", 77, RESCHEDULE, VECTOR_PRINT),
    point("irq_vectors:reschedule_entry", 78, RESCHEDULE, VECTOR_PRINT),
    point("irq_vectors:irq_work_exit", 79, IRQ_WORK, VECTOR_PRINT),
    point("irq_vectors:irq_work_entry", 80, IRQ_WORK, VECTOR_PRINT),
    point("irq_vectors:local_timer_exit", 87, LOCAL_TIMER, VECTOR_PRINT),
    point("irq_vectors:local_timer_entry", 88, LOCAL_TIMER, VECTOR_PRINT),
    point("raw_syscalls:sys_exit", 345, EXIT, EXIT_PRINT),
    point("raw_syscalls:sys_enter", 346, ENTER, ENTER_PRINT),
    point("block:block_rq_issue", 1060, ISSUE, ISSUE_PRINT),
    point("block:block_rq_complete", 1063, COMPLETE, COMPLETE_PRINT),
    point("kmem:mm_page_alloc", 539, PAGE, PAGE_PRINT),
    point("nmi:nmi_handler", 93, NMI, NMI_PRINT),
    point("osnoise:sample_threshold", 390, SAMPLE_THRESHOLD, SAMPLE_THRESHOLD_PRINT),
    point("osnoise:nmi_noise", 391, NMI_NOISE, NMI_NOISE_PRINT),
    point("osnoise:irq_noise", 392, IRQ_NOISE, IRQ_NOISE_PRINT),
    point("osnoise:softirq_noise", 393, SOFTIRQ_NOISE, SOFTIRQ_NOISE_PRINT),
    point("osnoise:thread_noise", 394, THREAD_NOISE, THREAD_NOISE_PRINT),
    point("probe:vfs_getname", 1172, GETNAME, GETNAME_PRINT),
];
