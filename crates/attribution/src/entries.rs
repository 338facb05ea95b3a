//! The kernel's entry points and landmarks by symbol name: one table, with its sources.
//!
//! Names of Linux 5.4 to 6.x on x86-64. Entry stubs: `arch/x86/entry/entry_64.S`, `arch/x86/include/asm/idtentry.h`
//! (since 5.8 `asm_*`; before, the bare names of `entry_64.S`). Softirq actions: the `open_softirq()` calls of
//! `kernel/softirq.c`, `kernel/time/timer.c`, `kernel/time/hrtimer.c`, `kernel/sched/fair.c`, `kernel/rcu/tree.c`,
//! `net/core/dev.c`, `block/blk-mq.c`, `lib/irq_poll.c`; their numbers: `include/linux/interrupt.h`.

use model::{Cause, FaultKind};

/// Why the kernel was entered, as the entry stub's name tells it.
pub(crate) fn entry_cause(stub: &str) -> Cause {
    let name = stub.strip_prefix("asm_").unwrap_or(stub);
    let name = name.strip_prefix("sysvec_").unwrap_or(name);
    match name {
        "exc_page_fault" | "async_page_fault" | "page_fault" => Cause::PageFault(FaultKind::Minor),
        "apic_timer_interrupt" | "hyperv_stimer0" => Cause::Timer,
        "exc_nmi" | "nmi" | "exc_nmi_noist" => Cause::Nmi,
        "reschedule_ipi" | "reschedule_interrupt" => Cause::Ipi("reschedule".into()),
        "call_function" | "call_function_interrupt" => Cause::Ipi("call-function".into()),
        "call_function_single" | "call_function_single_interrupt" => {
            Cause::Ipi("call-function-single".into())
        }
        "irq_work" | "irq_work_interrupt" => Cause::Ipi("irq-work".into()),
        "reboot" | "reboot_interrupt" => Cause::Ipi("reboot".into()),
        "x86_platform_ipi" => Cause::Ipi("platform".into()),
        "kvm_posted_intr_ipi" => Cause::Ipi("kvm-posted".into()),
        "common_interrupt" | "ret_from_intr" => Cause::Irq(UNNAMED_IRQ.into()),
        "spurious_interrupt" | "spurious_apic_interrupt" => Cause::Irq("spurious".into()),
        "thermal" | "thermal_interrupt" => Cause::Irq("thermal".into()),
        "threshold" | "threshold_interrupt" => Cause::Irq("threshold".into()),
        "deferred_error" | "deferred_error_interrupt" => Cause::Irq("deferred-error".into()),
        "error_interrupt" => Cause::Irq("apic-error".into()),
        "hyperv_callback" => Cause::Irq("hyperv".into()),
        "xen_hvm_callback" | "xen_evtchn_do_upcall" => Cause::Irq("xen".into()),
        _ if is_irq_stub(name) => Cause::Irq(UNNAMED_IRQ.into()),
        _ if is_syscall_stub(name) => Cause::Syscall(UNNAMED_SYSCALL.into()),
        _ => Cause::KernelUnknown,
    }
}

/// Why the kernel was entered, as the vector number of an Event Trace packet tells it
/// (`arch/x86/include/asm/irq_vectors.h`, `trapnr.h`; the numbers of Linux 5.4 to 6.x).
pub(crate) fn vector_cause(vector: u8) -> Cause {
    match vector {
        2 => Cause::Nmi,
        14 => Cause::PageFault(FaultKind::Minor),
        0x80 => Cause::Syscall(UNNAMED_SYSCALL.into()),
        0..=31 => Cause::KernelUnknown,
        0xec => Cause::Timer,
        0xf6 => Cause::Ipi("irq-work".into()),
        0xf7 => Cause::Ipi("platform".into()),
        0xf8 => Cause::Ipi("reboot".into()),
        0xfb => Cause::Ipi("call-function-single".into()),
        0xfc => Cause::Ipi("call-function".into()),
        0xfd => Cause::Ipi("reschedule".into()),
        _ => Cause::Irq(UNNAMED_IRQ.into()),
    }
}

/// Stands for an interrupt whose action no record names.
pub(crate) const UNNAMED_IRQ: &str = "device";

/// Stands for a system call whose number or function is not known.
pub(crate) const UNNAMED_SYSCALL: &str = "unknown";

/// The assembler stubs in the vector table that lead to `common_interrupt`, one for each device vector.
fn is_irq_stub(name: &str) -> bool {
    name.starts_with("irq_entries_start")
}

fn is_syscall_stub(name: &str) -> bool {
    matches!(
        name,
        "entry_SYSCALL_64"
            | "entry_SYSCALL_64_safe_stack"
            | "entry_SYSCALL_64_after_hwframe"
            | "entry_SYSENTER_compat"
            | "entry_SYSENTER_compat_after_hwframe"
            | "entry_SYSCALL_compat"
            | "entry_SYSCALL_compat_after_hwframe"
            | "entry_INT80_compat"
            | "int80_emulation"
            | "exc_int80_emulation"
            | "do_int80_emulation"
            | "do_int80_syscall_32"
            | "do_fast_syscall_32"
            | "do_SYSENTER_32"
            | "do_syscall_64"
            | "x64_sys_call"
            | "ia32_sys_call"
    )
}

/// What entering a function (or returning into one) says about the work that runs until it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Landmark {
    /// A system call's own function: names the call.
    SyscallBody(String),
    /// A softirq's action.
    Softirq(&'static str),
    /// The scheduler.
    Schedule,
}

/// The landmark that the kernel function `name` is, if it is one.
pub(crate) fn landmark(name: &str) -> Option<Landmark> {
    if let Some(call) = syscall_body(name) {
        return Some(Landmark::SyscallBody(call.to_owned()));
    }
    match name {
        "__schedule" => Some(Landmark::Schedule),
        _ => softirq_action(name).map(Landmark::Softirq),
    }
}

/// `read` of `__x64_sys_read`. Compatibility calls carry their own prefix and are the same call to a reader.
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

/// The softirq with vector number `vector` (`include/linux/interrupt.h`, `HI_SOFTIRQ` onwards).
pub(crate) fn softirq_name(vector: u64) -> &'static str {
    const NAMES: [&str; 10] =
        ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];
    usize::try_from(vector).ok().and_then(|index| NAMES.get(index)).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_old_and_new_entry_stubs_alike() {
        for (old, new) in [
            ("page_fault", "asm_exc_page_fault"),
            ("apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt"),
            ("reschedule_interrupt", "asm_sysvec_reschedule_ipi"),
            ("call_function_interrupt", "asm_sysvec_call_function"),
            ("nmi", "asm_exc_nmi"),
        ] {
            assert_eq!(entry_cause(old), entry_cause(new), "{old} and {new}");
            assert_ne!(entry_cause(new), Cause::KernelUnknown, "{new}");
        }
        assert_eq!(entry_cause("asm_exc_divide_error"), Cause::KernelUnknown);
    }

    #[test]
    fn names_system_calls_by_their_function() {
        assert_eq!(landmark("__x64_sys_read"), Some(Landmark::SyscallBody("read".into())));
        assert_eq!(landmark("do_syscall_64"), None);
    }

    /// Vector numbers as `irq:softirq_entry` prints them: `vec=9 [action=RCU]`, `vec=7 [action=SCHED]`.
    #[test]
    fn numbers_softirqs_as_the_kernel_does() {
        assert_eq!((softirq_name(9), softirq_name(7), softirq_name(3)), ("rcu", "sched", "net_rx"));
        assert_eq!(softirq_name(10), "unknown");
    }
}
