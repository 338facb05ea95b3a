//! What only machine code can do: the time-stamp counter, and Linux's system calls, which leave `errno` as it is.

#![allow(unsafe_code)]

use core::arch::asm;

/// Numbers of system calls, of x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`).
mod number {
    pub(super) const CLOCK_GETTIME: u64 = 228;
}

/// The time-stamp counter, in ticks. Earlier instructions may still be running: as `tailtrace.h` reads it.
#[inline]
pub fn tsc() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: RDTSC writes these two registers alone, and is permitted to programs (CR4.TSD = 0 on Linux, unless the
    // process gave it up by `prctl(PR_SET_TSC)`: then it is killed, as by any other reading of the counter).
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nostack)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Nanoseconds of the clock of this number; `None` where there is no such clock.
pub(crate) fn clock(id: u64) -> Option<u64> {
    let mut time = [0_u64; 2];
    let to = time.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the call writes the two words of a `struct timespec` there.
    let result = unsafe { call(number::CLOCK_GETTIME, [id, to, 0, 0, 0, 0]) };
    (result == 0).then_some(time[0] * 1_000_000_000 + time[1])
}

/// Calls the kernel; -errno where the call fails.
///
/// # Safety
/// What `arguments` point to must be as the call demands.
unsafe fn call(number: u64, arguments: [u64; 6]) -> i64 {
    let result: u64;
    // SAFETY: the kernel changes rax, rcx and r11, and of memory what the caller vouches for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result.cast_signed()
}
