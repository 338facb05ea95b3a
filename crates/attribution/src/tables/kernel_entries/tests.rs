//! The table against the kernel's headers, and against itself.

use super::*;
use crate::tables::exceptions::{exception_at, exception_of};

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

/// The numbers of `irq_vectors.h`, the names of `trace/irq_vectors.h`: the same entry from either source.
#[test]
fn stubs_vectors_and_records_agree() {
    for (stub, vector, record, name) in [
        ("asm_sysvec_apic_timer_interrupt", 0xec, "local_timer", "kernel.timer"),
        ("asm_sysvec_reschedule_ipi", 0xfd, "reschedule", "kernel.ipi.reschedule"),
        ("asm_sysvec_call_function", 0xfc, "call_function", "kernel.ipi.call-function"),
        ("asm_sysvec_thermal", 0xfa, "thermal_apic", "kernel.irq.thermal"),
    ] {
        let causes = [entry_cause(stub), vector_cause(vector), record_cause(record)];
        assert!(causes.iter().all(|cause| cause.to_string() == name), "{causes:?}");
    }
    assert_eq!(vector_cause(0x31).to_string(), "kernel.irq.device");
    assert_eq!(vector_cause(13), Cause::KernelUnknown);
    assert_eq!(record_cause("vector_alloc").to_string(), "kernel.irq.vector-alloc");
}

/// By `trapnr.h` and `idtentry.h`; a page fault and an NMI have causes of their own.
#[test]
fn exceptions_are_told_by_stub_and_vector() {
    for (stub, old, vector, mnemonic) in [
        ("asm_exc_int3", "int3", 3, "#BP"),
        ("asm_exc_debug", "debug", 1, "#DB"),
        ("asm_exc_invalid_op", "invalid_op", 6, "#UD"),
        ("asm_exc_general_protection", "general_protection", 13, "#GP"),
    ] {
        for told in [exception_at(stub), exception_at(old), exception_of(vector)] {
            assert!(told.is_some_and(|what| what.starts_with(mnemonic)), "{stub}: {told:?}");
        }
    }
    for vector in 0..=u8::MAX {
        let other = vector_cause(vector) != Cause::KernelUnknown;
        assert!(!other || exception_of(vector).is_none(), "{vector} has two names");
    }
    assert_eq!(exception_at("asm_exc_page_fault"), None);
}

#[test]
fn no_stub_and_no_vector_stands_twice() {
    let mut stubs: Vec<_> = ENTRIES.iter().flat_map(|entry| entry.stubs).collect();
    let mut vectors: Vec<_> = ENTRIES.iter().filter_map(|entry| entry.vector).collect();
    let counts = (stubs.len(), vectors.len());
    stubs.sort_unstable();
    stubs.dedup();
    vectors.sort_unstable();
    vectors.dedup();
    assert_eq!((stubs.len(), vectors.len()), counts);
}

#[test]
fn kernel_threads_are_told_by_what_they_run_and_by_name() {
    let kworker = Some(Cause::KernelThread("kworker".into()));
    assert_eq!(kernel_thread("process_one_work"), kworker);
    assert_eq!(kernel_thread_called("kworker/1:2H-kblockd"), kworker);
    assert_eq!(kernel_thread_called("worker"), None);
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

/// By `entry_64_fred.S` and `entry_fred.c`: the entries serve all, and what they call has the purpose.
#[test]
fn what_freds_entries_call_has_the_purpose() {
    for entry in ["asm_fred_entrypoint_user", "asm_fred_entrypoint_kernel"] {
        assert!(serves_all(entry));
        assert_eq!(entry_cause(entry), Cause::KernelUnknown);
    }
    for function in
        ["fred_entry_from_user", "fred_entry_from_kernel", "fred_extint", "fred_hwexc", "fred_other"]
    {
        assert_eq!(entry_cause(function), Cause::KernelUnknown, "{function}");
    }
    for (function, name) in [
        ("fred_sysvec_apic_timer_interrupt", "kernel.timer"),
        ("fred_sysvec_reschedule_ipi", "kernel.ipi.reschedule"),
        ("fred_sysvec_call_function_single", "kernel.ipi.call-function-single"),
        ("fred_sysvec_irq_work", "kernel.ipi.irq-work"),
        ("fred_sysvec_thermal", "kernel.irq.thermal"),
        ("fred_exc_nmi", "kernel.nmi"),
        ("exc_page_fault", "kernel.page-fault.minor"),
        ("common_interrupt", "kernel.irq.device"),
        ("do_syscall_64", "kernel.syscall.unknown"),
        ("fred_int80_emulation", "kernel.syscall.unknown"),
    ] {
        assert_eq!(entry_cause(function).to_string(), name, "{function}");
    }
    for (function, mnemonic) in
        [("fred_exc_debug", "#DB"), ("fred_exc_machine_check", "#MC"), ("exc_int3", "#BP")]
    {
        assert!(exception_at(function).is_some_and(|what| what.starts_with(mnemonic)), "{function}");
    }
}
