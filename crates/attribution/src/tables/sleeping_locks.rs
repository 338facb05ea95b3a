//! Locks whose waiters sleep for a while between two attempts: in the kernel that is a sleep, and a timer ends it, whoever has the lock.
//!
//! Sources: D's druntime `core/internal/spinlock.d` (of its collector, too); `PostgreSQL` `storage/lmgr/s_lock.c`; Boost `smart_ptr/detail/spinlock_*.hpp`
//! with `core/yield_primitives.hpp`; Folly `synchronization/detail/Sleeper.h` (`MicroSpinLock`).

/// Functions that take such a lock, by the beginnings of their names.
const TAKES: [&str; 5] = [
    "core.internal.spinlock.SpinLock.lock",
    "perform_spin_delay",
    "s_lock",
    "boost::detail::spinlock::lock",
    "folly::detail::Sleeper::wait",
];

/// Whether `functions`, through which a thread came to sleep, take a lock of that kind.
pub(crate) fn sleeps_for_lock<'a>(mut functions: impl Iterator<Item = &'a str>) -> bool {
    functions.any(|function| {
        TAKES.iter().any(|name| function.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_letter)))
    })
}

/// `s_lock` is not `s_lock_table`.
fn is_letter(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_known_by_its_whole_name() {
        assert!(sleeps_for_lock(["main", "core.internal.spinlock.SpinLock.lock", "nanosleep"].into_iter()));
        assert!(sleeps_for_lock(["s_lock", "pg_usleep"].into_iter()));
        assert!(sleeps_for_lock(["boost::detail::spinlock::lock()"].into_iter()));
        assert!(!sleeps_for_lock(["s_lock_table", "core.internal.spinlock.SpinLock.locked"].into_iter()));
    }
}
