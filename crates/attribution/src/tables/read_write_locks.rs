//! Functions that wait for a read-write lock, as a reader or as a writer: one table, with its sources.
//!
//! Kernel: `kernel/locking/rwsem.c`, 5.4 to 6.x. glibc `nptl/pthread_rwlock_*.c`; Rust `std::sys::sync::rwlock::futex`.
//! A reader may have to wait though only readers hold the lock: the kernel queues it after a waiting writer, and so do
//! Rust and glibc's `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.

/// How a thread wants the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// With other readers.
    Reader,
    /// Alone.
    Writer,
}

/// How a thread in `function` of the kernel wants a rw-semaphore.
pub(crate) fn side_in_kernel(function: &str) -> Option<Side> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| function.starts_with(prefix));
    if starts(&["rwsem_down_read_", "__down_read", "down_read"]) {
        return Some(Side::Reader);
    }
    starts(&["rwsem_down_write_", "__down_write", "down_write"]).then_some(Side::Writer)
}

/// How a thread in `function` of a program wants a lock.
pub(crate) fn side_in_user(function: &str) -> Option<Side> {
    let has = |parts: &[&str]| parts.iter().any(|part| function.contains(part));
    if has(&["rwlock_rdlock", "rwlock_timedrdlock", "rwlock_clockrdlock", "RwLock::read"]) {
        return Some(Side::Reader);
    }
    has(&["rwlock_wrlock", "rwlock_timedwrlock", "rwlock_clockwrlock", "RwLock::write"])
        .then_some(Side::Writer)
}
