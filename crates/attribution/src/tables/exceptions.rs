//! Processor exceptions without a cause of their own: their time is `kernel.unknown`, and the particulars name the
//! exception.
//!
//! Vectors and mnemonics: `arch/x86/include/asm/trapnr.h`. Stubs: `DECLARE_IDTENTRY*` of
//! `arch/x86/include/asm/idtentry.h` (since 5.8 `asm_exc_*`), before that `idtentry` in `entry_64.S`, with the bare
//! names. Under FRED (`entry_fred.c`) the functions of the stubs are called, or `fred_exc_*`. Page faults and NMIs are in `kernel_entries.rs`.

use super::kernel_entries::without;

/// Vector, stub without `asm_exc_`, description.
const EXCEPTIONS: [(u8, &str, &str); 17] = [
    (0, "divide_error", "#DE, a division error"),
    (1, "debug", "#DB, a debug exception"),
    (3, "int3", "#BP, a breakpoint: uprobes and kprobes set such"),
    (4, "overflow", "#OF, an overflow"),
    (5, "bounds", "#BR, a bound that was exceeded"),
    (6, "invalid_op", "#UD, an invalid instruction"),
    (7, "device_not_available", "#NM, the floating-point unit"),
    (8, "double_fault", "#DF, a double fault"),
    (10, "invalid_tss", "#TS, an invalid task segment"),
    (11, "segment_not_present", "#NP, a segment that is not present"),
    (12, "stack_segment", "#SS, a fault of the stack segment"),
    (13, "general_protection", "#GP, a general protection fault"),
    (16, "coprocessor_error", "#MF, a floating-point error"),
    (17, "alignment_check", "#AC, an alignment check"),
    (18, "machine_check", "#MC, a machine check"),
    (19, "simd_coprocessor_error", "#XF, a floating-point error of SIMD code"),
    (21, "control_protection", "#CP, a fault of control protection"),
];

/// The description of the exception whose stub is `stub`.
pub(crate) fn exception_at(stub: &str) -> Option<&'static str> {
    let name = without(without(without(stub, "asm_"), "fred_"), "exc_");
    EXCEPTIONS.iter().find(|row| row.1 == name).map(|row| row.2)
}

/// The description of the exception with this vector.
pub(crate) fn exception_of(vector: u8) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|row| row.0 == vector).map(|row| row.2)
}
