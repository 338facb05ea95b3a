//! The kernel's entry points and landmarks by symbol name: one table, with its sources.
//!
//! Linux 5.4 to 6.x on x86-64. Entry stubs: `arch/x86/entry/entry_64.S`, `arch/x86/include/asm/idtentry.h` (since 5.8
//! `asm_*`; before, the bare names of `entry_64.S`). Under FRED there are two for all (`entry_64_fred.S`), and the function that they call
//! (`entry_fred.c`: `fred_sysvec_*`, `fred_exc_*`, the functions of the stubs, `do_syscall_64`) shows the purpose. Vectors: `arch/x86/include/asm/irq_vectors.h`, `trapnr.h`. Records:
//! `arch/x86/include/asm/trace/irq_vectors.h`. Softirq actions: the `open_softirq()` calls of `kernel/softirq.c`,
//! `kernel/time/*.c`, `kernel/sched/fair.c`, `kernel/rcu/tree.c`, `net/core/dev.c`, `block/blk-mq.c`, `lib/irq_poll.c`;
//! their numbers: `include/linux/interrupt.h`.

use model::{Cause, FaultKind};

use super::kernel_spins::spins;

/// The purpose of an entry.
#[derive(Clone, Copy)]
enum What {
    PageFault,
    Timer,
    Nmi,
    Ipi(&'static str),
    Irq(&'static str),
    Syscall,
}

/// One kernel entry.
struct Entry {
    what: What,
    /// The stubs' names without `asm_` and `sysvec_`: first those since 5.8, then those before.
    stubs: &'static [&'static str],
    /// The vector's number, where the entry has its own.
    vector: Option<u8>,
    /// The `irq_vectors` record's name without `_entry`; empty where there is none.
    record: &'static str,
}

const fn entry(
    what: What,
    vector: Option<u8>,
    record: &'static str,
    stubs: &'static [&'static str],
) -> Entry {
    Entry { what, stubs, vector, record }
}

const ENTRIES: &[Entry] = &[
    entry(What::PageFault, Some(14), "", &["exc_page_fault", "async_page_fault", "page_fault"]),
    entry(What::Nmi, Some(2), "", &["exc_nmi", "exc_nmi_noist", "xenpv_exc_nmi", "nmi"]),
    entry(What::Timer, Some(0xec), "local_timer", &["apic_timer_interrupt"]),
    entry(What::Timer, Some(0xed), "", &["hyperv_stimer0", "hv_stimer0_callback_vector"]),
    entry(What::Ipi("reschedule"), Some(0xfd), "reschedule", &["reschedule_ipi", "reschedule_interrupt"]),
    entry(
        What::Ipi("call-function"),
        Some(0xfc),
        "call_function",
        &["call_function", "call_function_interrupt"],
    ),
    entry(
        What::Ipi("call-function-single"),
        Some(0xfb),
        "call_function_single",
        &["call_function_single", "call_function_single_interrupt"],
    ),
    entry(What::Ipi("irq-work"), Some(0xf6), "irq_work", &["irq_work", "irq_work_interrupt"]),
    entry(What::Ipi("reboot"), Some(0xf8), "", &["reboot", "reboot_interrupt"]),
    entry(What::Ipi("platform"), Some(0xf7), "x86_platform_ipi", &["x86_platform_ipi"]),
    entry(What::Ipi("kvm-posted"), Some(0xf2), "", &["kvm_posted_intr_ipi"]),
    entry(What::Ipi("kvm-posted-wakeup"), Some(0xf1), "", &["kvm_posted_intr_wakeup_ipi"]),
    entry(What::Ipi("kvm-posted-nested"), Some(0xf0), "", &["kvm_posted_intr_nested_ipi"]),
    entry(What::Irq("irq-move-cleanup"), None, "", &["irq_move_cleanup", "irq_move_cleanup_interrupt"]),
    entry(
        What::Irq("spurious"),
        Some(0xff),
        "spurious_apic",
        &["spurious_apic_interrupt", "spurious_interrupt", "exc_spurious_interrupt_bug"],
    ),
    entry(What::Irq("apic-error"), Some(0xfe), "error_apic", &["error_interrupt"]),
    entry(What::Irq("thermal"), Some(0xfa), "thermal_apic", &["thermal", "thermal_interrupt"]),
    entry(What::Irq("threshold"), Some(0xf9), "threshold_apic", &["threshold", "threshold_interrupt"]),
    entry(What::Irq("uv"), Some(0xf5), "", &["uv_bau_message", "uv_bau_message_intr1"]),
    entry(
        What::Irq("deferred-error"),
        Some(0xf4),
        "deferred_error_apic",
        &["deferred_error", "deferred_error_interrupt"],
    ),
    entry(
        What::Irq("hypervisor"),
        Some(0xf3),
        "",
        &[
            "hyperv_callback",
            "hyperv_callback_vector",
            "xen_hvm_callback",
            "xen_hvm_callback_vector",
            "xen_evtchn_do_upcall",
            "xen_hypervisor_callback",
            "exc_xen_hypervisor_callback",
            "acrn_hv_callback_vector",
            "kvm_asyncpf_interrupt",
        ],
    ),
    entry(
        What::Irq("hyperv-reenlightenment"),
        Some(0xee),
        "",
        &["hyperv_reenlightenment", "hyperv_reenlightenment_vector"],
    ),
    entry(What::Irq("posted-msi"), Some(0xeb), "", &["posted_msi_notification"]),
    entry(What::Irq("guest-pmi"), None, "", &["perf_guest_mediated_pmi_handler"]),
    // The device vectors lead here from stubs without symbols of their own.
    entry(
        What::Irq(UNNAMED_IRQ),
        None,
        "",
        &["common_interrupt", "irq_entries_start", "ret_from_intr", "do_IRQ"],
    ),
    entry(
        What::Syscall,
        Some(0x80),
        "",
        &[
            "entry_SYSCALL_64",
            "entry_SYSCALL_64_safe_stack",
            "entry_SYSCALL_64_after_hwframe",
            "entry_SYSENTER_compat",
            "entry_SYSENTER_compat_after_hwframe",
            "entry_SYSCALL_compat",
            "entry_SYSCALL_compat_after_hwframe",
            "entry_INT80_compat",
            "int80_emulation",
            "exc_int80_emulation",
            "do_int80_emulation",
            "do_int80_syscall_32",
            "do_fast_syscall_32",
            "do_SYSENTER_32",
            "do_syscall_64",
            "x64_sys_call",
            "ia32_sys_call",
        ],
    ),
];

/// An interrupt whose action no record names.
pub(crate) const UNNAMED_IRQ: &str = "device";

/// A softirq whose action no record names.
pub(crate) const UNNAMED_SOFTIRQ: &str = "unknown";

/// A system call whose number or function is not known.
pub(crate) const UNNAMED_SYSCALL: &str = "unknown";

/// The first 32 vectors are processor exceptions. Those without a cause of their own: `tables/exceptions.rs`.
const EXCEPTIONS: u8 = 32;

impl What {
    fn cause(self) -> Cause {
        match self {
            What::PageFault => Cause::PageFault(FaultKind::Minor),
            What::Timer => Cause::Timer,
            What::Nmi => Cause::Nmi,
            What::Ipi(what) => Cause::Ipi(what.into()),
            What::Irq(name) => Cause::Irq(name.into()),
            What::Syscall => Cause::Syscall(UNNAMED_SYSCALL.into()),
        }
    }
}

/// Why the kernel was entered, by the entry stub's name.
pub(crate) fn entry_cause(stub: &str) -> Cause {
    let name = without(stub, "asm_");
    let name = without(without(name, "fred_"), "sysvec_");
    let found = ENTRIES.iter().find(|entry| entry.stubs.contains(&name));
    found.map_or(Cause::KernelUnknown, |entry| entry.what.cause())
}

/// `name` without `prefix`, if it begins so.
pub(super) fn without<'n>(name: &'n str, prefix: &str) -> &'n str {
    name.strip_prefix(prefix).unwrap_or(name)
}

/// Whether `stub` is an entry of FRED, which serves all events alike.
pub(crate) fn serves_all(stub: &str) -> bool {
    stub.starts_with("asm_fred_entrypoint_")
}

/// Why the kernel was entered, by the vector number of an Event Trace packet.
pub(crate) fn vector_cause(vector: u8) -> Cause {
    match ENTRIES.iter().find(|entry| entry.vector == Some(vector)) {
        Some(entry) => entry.what.cause(),
        None if vector < EXCEPTIONS => Cause::KernelUnknown,
        None => Cause::Irq(UNNAMED_IRQ.into()),
    }
}

/// Why the kernel was entered, by an `irq_vectors` record's name without `_entry`.
pub(crate) fn record_cause(name: &str) -> Cause {
    let found = ENTRIES.iter().find(|entry| entry.record == name && !name.is_empty());
    found.map_or_else(|| Cause::Irq(name.replace('_', "-")), |entry| entry.what.cause())
}

/// Why the kernel was entered, by the osnoise tracer's description of an interrupt: of a vector that of its record
/// (`arch/x86/kernel/trace.c`), else the name of a device's action.
pub(crate) fn described_cause(description: &str) -> Cause {
    let record = match description {
        "" => return Cause::Irq(UNNAMED_IRQ.into()),
        // The only one that is not called as its record is.
        "deferred_error" => "deferred_error_apic",
        as_recorded => as_recorded,
    };
    let found = ENTRIES.iter().find(|entry| entry.record == record);
    found.map_or_else(|| Cause::Irq(description.into()), |entry| entry.what.cause())
}

/// Functions that call what others requested, by IPI (`kernel/smp.c`; `csd_do_func` since 6.4), as a work item
/// (`kernel/workqueue.c`) or as the handler of a threaded interrupt (`kernel/irq/manage.c`): the time belongs to what they call.
pub(crate) fn calls_for_others(function: &str) -> bool {
    function.ends_with("flush_smp_call_function_queue")
        || matches!(function, "csd_do_func" | "process_one_work" | "irq_thread_fn" | "irq_forced_thread_fn")
}

/// Whether the thread `comm` serves a threaded interrupt (`setup_irq_thread` of `kernel/irq/manage.c`: `irq/24-eth0`; `irq/24-s-eth0` for the second
/// handler of one that is threaded by force).
pub(crate) fn serves_interrupt(comm: &str) -> bool {
    comm.strip_prefix("irq/").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// What these functions call for their own purposes.
pub(crate) fn is_bookkeeping(function: &str) -> bool {
    const BEGINNINGS: [&str; 14] = [
        "_raw_spin_",
        "__traceiter_",
        "trace_",
        "perf_trace_",
        "csd_",
        "__csd_",
        "cpumask_",
        "pwq_",
        "move_linked_works",
        "set_work_",
        "debug_",
        "wq_",
        "kick_pool",
        "__rcu_read_",
    ];
    let threads_bookkeeping = ["__local_bh_disable_ip", "__local_bh_enable_ip", "irq_finalize_oneshot"];
    threads_bookkeeping.contains(&function)
        || matches!(
            function,
            "llist_reverse_order" | "irq_work_run" | "sched_ttwu_pending" | "wake_up_process"
        )
        || BEGINNINGS.iter().any(|beginning| function.starts_with(beginning))
}

/// Code that stands in for an indirect call, or for a return (`arch/x86/lib/retpoline.S`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thunk {
    /// Between a call or jump and its target.
    Call,
    /// Between the end of a function and its caller.
    Return,
}

/// Which thunk the kernel's `function` is; `None` for any other.
pub fn thunk(function: &str) -> Option<Thunk> {
    let returns = ["__x86_return_", "its_return_thunk", "srso_", "retbleed_"];
    match function {
        _ if function.starts_with("__x86_indirect_") => Some(Thunk::Call),
        _ if returns.iter().any(|beginning| function.starts_with(beginning)) => Some(Thunk::Return),
        _ => None,
    }
}

/// Whether `function` is one of them.
pub(crate) fn is_thunk(function: &str) -> bool {
    thunk(function).is_some()
}

/// Whether a function requested by another CPU flushes translations: a TLB shootdown (`arch/x86/mm/tlb.c`; the first
/// names since 5.11, the others before).
pub(crate) fn drops_translations(function: &str) -> bool {
    matches!(
        function,
        "flush_tlb_func"
            | "do_flush_tlb_all"
            | "do_kernel_range_flush"
            | "flush_tlb_func_remote"
            | "flush_tlb_func_common"
    )
}

/// Kernel threads by their main functions and by the prefixes of their names: they never enter the kernel, so no
/// entry names their work. Sources: the `kthread_create()` and `smpboot_register_percpu_thread()` calls of the files.
const KERNEL_THREADS: [(&str, &[&str], &[&str]); 14] = [
    // kernel/workqueue.c
    ("kworker", &["worker_thread", "process_one_work", "rescuer_thread"], &["kworker/"]),
    // kernel/softirq.c
    ("ksoftirqd", &["run_ksoftirqd"], &["ksoftirqd/"]),
    // kernel/stop_machine.c
    ("migration", &["cpu_stopper_thread"], &["migration/"]),
    // kernel/irq/manage.c
    ("irq", &["irq_thread"], &["irq/"]),
    // kernel/rcu/tree.c, tasks.h
    (
        "rcu",
        &["rcu_gp_kthread", "rcu_cpu_kthread", "rcu_tasks_kthread", "rcu_nocb_cb_kthread"],
        &["rcu_", "rcuo", "rcuc/"],
    ),
    // mm/vmscan.c
    ("kswapd", &["kswapd"], &["kswapd"]),
    // mm/compaction.c, mm/khugepaged.c
    ("kcompactd", &["kcompactd"], &["kcompactd"]),
    ("khugepaged", &["khugepaged"], &["khugepaged"]),
    // fs/jbd2/journal.c
    ("jbd2", &["kjournald2"], &["jbd2/"]),
    // fs/xfs/xfs_trans_ail.c
    ("xfsaild", &["xfsaild"], &["xfsaild/"]),
    // net/core/dev.c
    ("napi", &["napi_threaded_poll"], &["napi/"]),
    // io_uring/io-wq.c, sqpoll.c
    ("io-wq", &["io_wq_worker", "io_wqe_worker"], &["iou-wrk-"]),
    ("io-sq", &["io_sq_thread"], &["iou-sqp-"]),
    // kernel/kthread.c
    ("kthreadd", &["kthreadd"], &["kthreadd"]),
];

/// The kernel thread whose main function is `function`.
pub(crate) fn kernel_thread(function: &str) -> Option<Cause> {
    let found = KERNEL_THREADS.iter().find(|(_, functions, _)| functions.contains(&function));
    found.map(|row| Cause::KernelThread(row.0.into()))
}

/// The kernel thread with the name `comm`.
pub(crate) fn kernel_thread_called(comm: &str) -> Option<Cause> {
    let called = |prefixes: &[&str]| prefixes.iter().any(|prefix| comm.starts_with(prefix));
    let found = KERNEL_THREADS.iter().find(|row| called(row.2));
    found.map(|row| Cause::KernelThread(row.0.into()))
}

/// What a function, when entered or returned into, shows about the work that runs until it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Landmark {
    /// A system call's own function: it names the call.
    SyscallBody(String),
    /// A softirq's action.
    Softirq(&'static str),
    /// The scheduler.
    Schedule,
    /// A loop that waits for a lock.
    Spin,
}

/// The landmark that the kernel function `name` is, if it is one.
pub(crate) fn landmark(name: &str) -> Option<Landmark> {
    if let Some(call) = syscall_body(name) {
        return Some(Landmark::SyscallBody(call.to_owned()));
    }
    match name {
        "__schedule" => Some(Landmark::Schedule),
        _ if spins(name) => Some(Landmark::Spin),
        _ => softirq_action(name).map(Landmark::Softirq),
    }
}

/// `read` for `__x64_sys_read`. Compatibility calls have their own prefix; a reader sees them as the same call.
fn syscall_body(function: &str) -> Option<&str> {
    ["__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x32_compat_sys_", "__x64_compat_sys_"]
        .iter()
        .find_map(|prefix| function.strip_prefix(prefix))
}

/// The softirq that the function `name` serves, by the kernel's name for it in lower case.
fn softirq_action(name: &str) -> Option<&'static str> {
    Some(match name {
        "tasklet_hi_action" => "hi",
        "run_timer_softirq" => "timer",
        "net_tx_action" => "net_tx",
        "net_rx_action" => "net_rx",
        "blk_done_softirq" => "block",
        "irq_poll_softirq" => "irq_poll",
        "tasklet_action" => "tasklet",
        "run_rebalance_domains" | "sched_balance_softirq" => "sched",
        "hrtimer_run_softirq" => "hrtimer",
        "rcu_core_si" | "rcu_process_callbacks" => "rcu",
        _ => return None,
    })
}

/// Whether `function` runs pending softirqs for the current thread, at the end of the critical section in which it
/// raised them (`kernel/softirq.c`).
pub(crate) fn runs_own_softirqs(function: &str) -> bool {
    matches!(function, "__local_bh_enable_ip" | "local_bh_enable" | "_local_bh_enable" | "do_softirq")
}

/// The softirq with vector number `vector` (`include/linux/interrupt.h`, `HI_SOFTIRQ` onwards).
pub(crate) fn softirq_name(vector: u64) -> &'static str {
    const NAMES: [&str; 10] =
        ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];
    usize::try_from(vector).ok().and_then(|index| NAMES.get(index)).copied().unwrap_or(UNNAMED_SOFTIRQ)
}

#[cfg(test)]
mod tests;
