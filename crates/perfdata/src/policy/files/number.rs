//! System calls that make and end descriptors, by their numbers of x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`).

/// open, creat, openat, openat2: they return a descriptor of the file that they are given the name of.
pub(super) const OPEN: [u64; 4] = [2, 85, 257, 437];
pub(super) const CLOSE: u64 = 3;
pub(super) const CLOSE_RANGE: u64 = 436;
/// Others that return a descriptor: dup, dup2, socket, accept, `epoll_create`, `inotify_init`, `timerfd_create`,
/// eventfd, accept4, signalfd4, eventfd2, `epoll_create1`, dup3, `inotify_init1`, `perf_event_open`,
/// `open_by_handle_at`, `memfd_create`, userfaultfd, `io_uring_setup`, `open_tree`, `pidfd_open`, `pidfd_getfd`.
pub(super) const OTHERS: [u64; 22] = [
    32, 33, 41, 43, 213, 253, 283, 284, 288, 289, 290, 291, 292, 294, 298, 304, 319, 323, 425, 428, 434, 438,
];
