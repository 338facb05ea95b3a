//! Kernel functions in which a CPU spins until another one releases a lock.
//!
//! Spin locks and read-write locks have nothing but their slow path; mutexes, read-write semaphores and real-time mutexes spin
//! as long as the owner runs, and sleep otherwise (`kernel/locking/`: `qspinlock.c`, `qrwlock.c`, `osq_lock.c`, `mutex.c`,
//! `rwsem.c`, `rtmutex.c`; `rqspinlock.c` since 6.15).

/// The functions of which all time is spinning, but of [`BY_ITSELF`]; a compiler may add a suffix (`.constprop.0`).
const SPINS: [&str; 15] = [
    "queued_spin_lock_slowpath",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "resilient_queued_spin_lock_slowpath",
    "resilient_tas_spin_lock",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "osq_lock",
    "mutex_optimistic_spin",
    "mutex_spin_on_owner",
    "rwsem_optimistic_spin",
    "rwsem_spin_on_owner",
    "rtmutex_spin_on_owner",
    "rt_mutex_adaptive_spinwait",
    BY_ITSELF,
];

/// It asks whether the lock is free, and sleeps, in functions of their own, which are no spinning; what it does itself is
/// `rtmutex_spin_on_owner`, inlined.
const BY_ITSELF: &str = "rt_mutex_slowlock_block";

/// The functions of a kind of lock, by the beginnings of their names: the code that takes the lock calls the outermost of
/// them. The order matters: a mutex has a spin lock inside.
const LOCKS: [(&str, &[&str]); 5] = [
    ("mutex", &["mutex_", "__mutex_", "ww_mutex_", "__ww_mutex_"]),
    ("rwsem", &["down_read", "down_write", "__down_read", "__down_write", "rwsem_"]),
    ("rt_mutex", &["rt_mutex_", "__rt_mutex_", "rtmutex_", "rt_spin_", "rt_read_", "rt_write_", "rtlock_"]),
    ("read-write lock", &["queued_read_", "queued_write_", "_raw_read_", "_raw_write_"]),
    (
        "spin lock",
        &[
            "queued_spin_",
            "native_queued_",
            "__pv_queued_",
            "resilient_",
            "_raw_spin_",
            "__raw_spin_",
            "do_raw_spin_",
            "__raw_callee_save___pv_queued_",
        ],
    ),
];

/// Whether all time of the kernel function `name` is spinning for a lock.
pub(crate) fn spins(name: &str) -> bool {
    SPINS.contains(&name.split('.').next().unwrap_or(name))
}

/// Whether what `name` calls is no part of its spinning.
pub(crate) fn spins_by_itself(name: &str) -> bool {
    name.split('.').next() == Some(BY_ITSELF)
}

/// Which lock is spun for, by the functions that have not returned, innermost first: `mutex taken in pipe_write()`.
pub(crate) fn tell_lock<'a>(innermost_first: impl Iterator<Item = &'a str>) -> String {
    let mut kind = None;
    for function in innermost_first {
        let of = LOCKS.iter().position(|(_, names)| names.iter().any(|name| function.starts_with(name)));
        if of.is_none() && !spins(function) {
            let kind = kind.map_or("lock", |kind: usize| LOCKS[kind].0);
            return format!("{kind} taken in {function}()");
        }
        kind = of.into_iter().chain(kind).min();
    }
    kind.map_or_else(|| "lock".to_owned(), |kind| LOCKS[kind].0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Call chains of Linux 6.1.
    #[test]
    fn a_lock_is_told_by_who_takes_it() {
        let told = |chain: &[&'static str]| tell_lock(chain.iter().copied());
        assert_eq!(
            told(&["native_queued_spin_lock_slowpath", "_raw_spin_lock", "futex_wake", "do_futex"]),
            "spin lock taken in futex_wake()"
        );
        assert_eq!(
            told(&["osq_lock", "__mutex_lock.constprop.0", "mutex_lock", "pipe_write", "vfs_write"]),
            "mutex taken in pipe_write()"
        );
        // The wait lock of the semaphore: what is taken is the semaphore.
        assert_eq!(
            told(&[
                "native_queued_spin_lock_slowpath",
                "_raw_spin_lock_irq",
                "rwsem_down_write_slowpath",
                "down_write",
                "vma_link"
            ]),
            "rwsem taken in vma_link()"
        );
        assert_eq!(
            told(&[
                "rwsem_spin_on_owner",
                "rwsem_optimistic_spin",
                "rwsem_down_write_slowpath",
                "down_write_killable",
                "vm_mmap_pgoff"
            ]),
            "rwsem taken in vm_mmap_pgoff()"
        );
        assert_eq!(
            told(&["rt_mutex_slowlock_block.constprop.0", "rt_mutex_wait_proxy_lock", "futex_lock_pi"]),
            "rt_mutex taken in futex_lock_pi()"
        );
        assert_eq!(told(&["queued_write_lock_slowpath", "do_exit"]), "read-write lock taken in do_exit()");
        assert_eq!(told(&["osq_lock"]), "lock");
    }

    #[test]
    fn suffixes_of_compilers_do_not_hide_a_spin() {
        assert!(spins("rt_mutex_slowlock_block.constprop.0"));
        assert!(spins("mutex_spin_on_owner") && spins("rwsem_optimistic_spin.constprop.0"));
        assert!(!spins("osq_unlock") && !spins("mutex_lock"));
    }
}
