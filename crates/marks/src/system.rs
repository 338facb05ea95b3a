//! What only machine code and the C library can do: the time-stamp counter, memory and system calls of Linux on x86-64.
//!
//! System calls are made by hand: signal handlers may mark, and must find `errno` as it was. Functions whose `None` or `Err` says
//! that the kernel refused return its errno where somebody can do something about it.

#![allow(unsafe_code)]

use core::arch::asm;
use core::sync::atomic::AtomicU64;

/// Numbers of system calls (`arch/x86/entry/syscalls/syscall_64.tbl`).
mod number {
    #[cfg(feature = "std")]
    pub(super) const WRITE: u64 = 1;
    pub(super) const MMAP: u64 = 9;
    #[cfg(feature = "std")]
    pub(super) const RT_SIGPROCMASK: u64 = 14;
    #[cfg(feature = "std")]
    pub(super) const FLOCK: u64 = 73;
    #[cfg(feature = "std")]
    pub(super) const SCHED_SETSCHEDULER: u64 = 144;
    pub(super) const PRCTL: u64 = 157;
    pub(super) const GETTID: u64 = 186;
    #[cfg(feature = "std")]
    pub(super) const SCHED_SETAFFINITY: u64 = 203;
    #[cfg(feature = "std")]
    pub(super) const SCHED_GETAFFINITY: u64 = 204;
    pub(super) const CLOCK_GETTIME: u64 = 228;
    #[cfg(feature = "std")]
    pub(super) const TGKILL: u64 = 234;
    #[cfg(feature = "std")]
    pub(super) const PROCESS_VM_READV: u64 = 310;
}

#[cfg(feature = "std")]
const ESRCH: i64 = 3;
#[cfg(feature = "std")]
const EFAULT: i64 = 14;

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
    // SAFETY: the call writes the two words of a `struct timespec` there.
    let result = unsafe { call(number::CLOCK_GETTIME, [id, address(time.as_mut_ptr()), 0, 0, 0, 0]) };
    (result == 0).then(|| time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1]))
}

/// The number of the thread that calls.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: touches no memory.
    unsafe { call(number::GETTID, [0; 6]) }.cast_unsigned()
}

/// The name of the thread that calls: 15 bytes at most, and zeros.
pub(crate) fn thread_name() -> [u64; 2] {
    const PR_GET_NAME: u64 = 16;
    let mut name = [0; 2];
    // SAFETY: the call writes at most 16 bytes there.
    unsafe { call(number::PRCTL, [PR_GET_NAME, address(name.as_mut_ptr()), 0, 0, 0, 0]) };
    name
}

/// Names the thread that calls, by the first 15 bytes.
#[cfg(feature = "std")]
pub(crate) fn set_thread_name(name: &core::ffi::CStr) {
    const PR_SET_NAME: u64 = 15;
    let name = name.as_ptr().expose_provenance() as u64;
    // SAFETY: the call reads a string there, of which it takes at most 16 bytes.
    unsafe { call(number::PRCTL, [PR_SET_NAME, name, 0, 0, 0, 0]) };
}

/// New memory for as long as the process lives, all of it there, and zero; `None` where there is none. `is_shared`: with the
/// process's children. It is not the allocator's, which signal handlers must not call.
pub(crate) fn pages<const WORDS: usize>(is_shared: bool) -> Option<&'static [AtomicU64; WORDS]> {
    // PROT_READ | PROT_WRITE; MAP_ANONYMOUS | MAP_POPULATE, and MAP_SHARED or MAP_PRIVATE.
    let flags = if is_shared { 0x8021 } else { 0x8022 };
    let size = WORDS * size_of::<AtomicU64>();
    // SAFETY: no address is requested: the kernel chooses one where nothing is.
    let at = unsafe { call(number::MMAP, [0, size as u64, 3, flags, u64::MAX, 0]) };
    let at = usize::try_from(at).ok()?;
    // SAFETY: `size` zero bytes, on a page's boundary, that no one else has and no one unmaps.
    Some(unsafe { &*core::ptr::with_exposed_provenance::<[AtomicU64; WORDS]>(at) })
}

fn address<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
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

#[cfg(feature = "std")]
pub(crate) use process::*;

/// What the writing thread and the opening of a file need.
#[cfg(feature = "std")]
mod process {
    use core::ffi::{CStr, c_int};

    use super::{EFAULT, ESRCH, address, call, number};

    /// A set of CPUs, as the kernel has it.
    pub(crate) type Cpus = [u64; 128];

    /// Whether the thread `thread` of the process `process` is there.
    pub(crate) fn is_alive(process: u32, thread: u64) -> bool {
        // SAFETY: signal 0 is none, and no memory is touched.
        unsafe { call(number::TGKILL, [u64::from(process), thread, 0, 0, 0, 0]) != -ESRCH }
    }

    /// Writes to an open file, or not.
    pub(crate) fn write(file: i32, bytes: &[u8]) {
        let (file, from) = (u64::from(file.cast_unsigned()), address(bytes.as_ptr().cast_mut()));
        // SAFETY: the call reads so many bytes there.
        unsafe { call(number::WRITE, [file, from, bytes.len() as u64, 0, 0, 0]) };
    }

    /// Takes the lock of an open file, which the process keeps until it closes it; false where another process has it.
    pub(crate) fn lock(file: i32) -> bool {
        const EXCLUSIVE_NOW: u64 = 2 | 4;
        const EWOULDBLOCK: i64 = 11;
        // SAFETY: touches no memory.
        unsafe {
            call(number::FLOCK, [u64::from(file.cast_unsigned()), EXCLUSIVE_NOW, 0, 0, 0, 0]) != -EWOULDBLOCK
        }
    }

    /// The CPUs that the thread that calls may use.
    pub(crate) fn affinity() -> Cpus {
        let mut cpus = [0; 128];
        let arguments = [0, size_of::<Cpus>() as u64, address(cpus.as_mut_ptr()), 0, 0, 0];
        // SAFETY: the call writes at most so many bytes there.
        unsafe { call(number::SCHED_GETAFFINITY, arguments) };
        cpus
    }

    /// Moves the thread that calls to these CPUs, as far as the process may use them; false where it may use none.
    pub(crate) fn set_affinity(mut cpus: Cpus) -> bool {
        let arguments = [0, size_of::<Cpus>() as u64, address(cpus.as_mut_ptr()), 0, 0, 0];
        // SAFETY: the call reads so many bytes there.
        unsafe { call(number::SCHED_SETAFFINITY, arguments) == 0 }
    }

    /// Makes the thread that calls `SCHED_OTHER`, whatever its creator is.
    pub(crate) fn be_ordinary() {
        let mut priority: c_int = 0;
        // SAFETY: the call reads a `struct sched_param` there, which is one int.
        unsafe { call(number::SCHED_SETSCHEDULER, [0, 0, address(&raw mut priority), 0, 0, 0]) };
    }

    /// Runs `create` with all signals blocked, so that a thread which it makes handles none. All but 32 and 33, by which the C
    /// library has all threads change their user.
    pub(crate) fn without_signals<T>(create: impl FnOnce() -> T) -> T {
        const SET: u64 = 2;
        let (mut all, mut before) = (!(3_u64 << 31), 0_u64);
        let (all, before) = (address(&raw mut all), address(&raw mut before));
        // SAFETY: reads and writes one set of 8 bytes each.
        unsafe { call(number::RT_SIGPROCMASK, [SET, all, before, 8, 0, 0]) };
        let created = create();
        // SAFETY: as above.
        unsafe { call(number::RT_SIGPROCMASK, [SET, before, 0, 8, 0, 0]) };
        created
    }

    /// Reads a string of the program, which may be gone, up to its end; `None` where there is no such memory.
    pub(crate) fn text<const SIZE: usize>(process: u32, from: u64, bytes: &mut [u8; SIZE]) -> Option<&[u8]> {
        // Memory may end where a page does, and the kernel copies no part of a piece.
        let first = (4096 - from % 4096).min(SIZE as u64);
        let mut to = [address(bytes.as_mut_ptr()), SIZE as u64];
        let mut pieces = [from, first, from.wrapping_add(first), SIZE as u64 - first];
        let (to, pieces) = (address(to.as_mut_ptr()), address(pieces.as_mut_ptr()));
        // SAFETY: the call writes at most SIZE bytes to `bytes`, and checks what it reads.
        let length = unsafe { call(number::PROCESS_VM_READV, [u64::from(process), to, 1, pieces, 2, 0]) };
        if length == -EFAULT || from == 0 {
            return None;
        }
        let read = usize::try_from(length).unwrap_or_else(|_| {
            // Not permitted here: trust the program, which gave a `&'static CStr`.
            let at = usize::try_from(from).unwrap_or_default();
            // SAFETY: as the program said.
            let whole = unsafe { CStr::from_ptr(core::ptr::with_exposed_provenance(at)) }.to_bytes();
            let length = whole.len().min(SIZE);
            bytes[..length].copy_from_slice(&whole[..length]);
            length
        });
        bytes[..read].split(|&byte| byte == 0).next()
    }

    unsafe extern "C" {
        safe fn atexit(handler: extern "C" fn()) -> c_int;
        safe fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> c_int;
    }

    /// Has `at_exit` called when the process ends by `exit()` or by the return of `main`, and `in_child` in children of `fork()`.
    pub(crate) fn call_at_ends(at_exit: extern "C" fn(), in_child: extern "C" fn()) {
        // Without memory for it, the file ends at the last 2 ms, and a child's marks are not counted.
        let _ = atexit(at_exit);
        let _ = pthread_atfork(None, None, Some(in_child));
    }
}
