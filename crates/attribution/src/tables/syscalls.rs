//! System calls by number, x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`), and what their first argument refers
//! to.

use std::fmt;

use model::OffCpu;
use syscalls::x86_64::Sysno;

/// The name of call `number`, or `nr<number>` where the table lacks it.
pub(crate) fn name(number: u64) -> String {
    known_name(number).map_or_else(|| format!("nr{number}"), str::to_owned)
}

/// The name of call `number`, if the table has it.
pub(crate) fn known_name(number: u64) -> Option<&'static str> {
    usize::try_from(number).ok().and_then(Sysno::new).map(|call| call.name())
}

/// What a system call works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// The futex word at this address.
    Futex(u64),
    /// This file descriptor.
    FileDescriptor(u32),
}

/// What the first argument of call `name` refers to, for calls that may wait.
pub(crate) fn object(name: &str, first_argument: u64) -> Option<Object> {
    match name {
        "futex" | "futex_wait" | "futex_wake" | "futex_requeue" => Some(Object::Futex(first_argument)),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64" | "writev" | "pwritev"
        | "pwritev2" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "accept"
        | "accept4" | "sendfile" | "connect" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "fsync"
        | "fdatasync" | "syncfs" | "sync_file_range" | "ftruncate" | "fallocate" | "ioctl" | "flock"
        | "fcntl" | "getdents64" | "io_uring_enter" => {
            // The kernel takes the low 32 bits of the register.
            Some(Object::FileDescriptor(u32::try_from(first_argument & 0xffff_ffff).ok()?))
        }
        _ => None,
    }
}

/// The operation of a futex call: its second argument (`include/uapi/linux/futex.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FutexOperation(u32);

impl FutexOperation {
    const NAMES: [&str; 14] = [
        "WAIT",
        "WAKE",
        "FD",
        "REQUEUE",
        "CMP_REQUEUE",
        "WAKE_OP",
        "LOCK_PI",
        "UNLOCK_PI",
        "TRYLOCK_PI",
        "WAIT_BITSET",
        "WAKE_BITSET",
        "WAIT_REQUEUE_PI",
        "CMP_REQUEUE_PI",
        "LOCK_PI2",
    ];
    const PRIVATE: u32 = 128;
    const REALTIME: u32 = 256;

    /// From the argument's register, of which the kernel takes the low half.
    pub(crate) fn of(argument: u64) -> FutexOperation {
        FutexOperation((argument & 0xffff_ffff) as u32)
    }

    fn name(self) -> Option<&'static str> {
        let number = self.0 & !(FutexOperation::PRIVATE | FutexOperation::REALTIME);
        FutexOperation::NAMES.get(number as usize).copied()
    }

    /// Whether it acquires a lock whose holder the kernel knows.
    pub(crate) fn takes_lock(self) -> bool {
        matches!(self.name(), Some("LOCK_PI" | "LOCK_PI2"))
    }

    /// Whether it waits for a condition and acquires its lock afterwards.
    pub(crate) fn awaits_condition(self) -> bool {
        self.name() == Some("WAIT_REQUEUE_PI")
    }
}

impl fmt::Display for FutexOperation {
    /// `FUTEX_WAIT_PRIVATE`, as the manual page spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let private = if self.0 & FutexOperation::PRIVATE == 0 { "" } else { "_PRIVATE" };
        match self.name() {
            Some(name) => write!(f, "FUTEX_{name}{private}"),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

/// How many milliseconds call `name` waits at most; `None` where it waits without limit or no argument holds one.
pub(crate) fn timeout(name: &str, arguments: &[u64]) -> Option<u32> {
    let argument = match name {
        "poll" => arguments.get(2),
        "epoll_wait" | "epoll_pwait" => arguments.get(3),
        _ => None,
    };
    // An `int`: a negative value means no limit.
    argument.map(|&register| (register & 0xffff_ffff) as u32).filter(|&ms| i32::try_from(ms).is_ok())
}

/// Which way a call moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transferring {
    /// From its descriptor.
    In,
    /// To its descriptor.
    Out,
}

/// Which way call `name` moves bytes that its result counts; `None` for other calls.
pub(crate) fn transfers(name: &str) -> Option<Transferring> {
    match name {
        "read" | "readv" | "recvfrom" | "recvmsg" => Some(Transferring::In),
        "write" | "writev" | "sendto" | "sendmsg" | "sendfile" => Some(Transferring::Out),
        _ => None,
    }
}

/// Whether call `name` moves bytes in a way that its arguments and its result do not show.
pub(crate) fn moves_unseen(name: &str) -> bool {
    matches!(name, "io_uring_enter" | "recvmmsg" | "sendmmsg" | "splice" | "tee" | "vmsplice")
}

/// What a call does to descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MakesDescriptor {
    /// Its result is a connection that a client opened.
    Accepted,
    /// Its result is a file.
    File,
    /// Its result reads events: a counter, a timer, signals.
    Event,
    /// Its result is something else.
    Other,
    /// Its first argument becomes a connection to somebody else.
    Connects,
    /// Its first argument is free for another use.
    Closes,
}

/// What call `name` does to descriptors; `None` for calls that neither make nor end one.
pub(crate) fn makes_descriptor(name: &str) -> Option<MakesDescriptor> {
    Some(match name {
        "accept" | "accept4" => MakesDescriptor::Accepted,
        "open" | "openat" | "openat2" | "creat" | "memfd_create" => MakesDescriptor::File,
        "eventfd" | "eventfd2" | "timerfd_create" | "signalfd" | "signalfd4" => MakesDescriptor::Event,
        "socket" | "dup" | "dup2" | "dup3" | "epoll_create" | "epoll_create1" | "inotify_init"
        | "inotify_init1" | "pidfd_open" | "pidfd_getfd" | "io_uring_setup" => MakesDescriptor::Other,
        "connect" => MakesDescriptor::Connects,
        "close" => MakesDescriptor::Closes,
        _ => return None,
    })
}

/// What a thread that sleeps in this call waits for, and in words, as `wait_functions` has them, where the kind does not say it; `None`
/// where the name does not show it.
pub(crate) fn waits_for(call: &str) -> Option<(OffCpu, &'static str)> {
    Some(match call {
        "futex" | "futex_wait" | "futex_waitv" | "futex_requeue" => (OffCpu::Lock, ""),
        "semop" | "semtimedop" => (OffCpu::Lock, "for a System V semaphore"),
        "flock" => (OffCpu::Lock, "for a file lock"),
        "nanosleep" | "clock_nanosleep" => (OffCpu::Sleep, ""),
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => {
            (OffCpu::Poll, "")
        }
        "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "accept" | "accept4"
        | "connect" => (OffCpu::Socket, ""),
        "fsync" | "fdatasync" | "syncfs" | "sync" | "sync_file_range" | "msync" | "io_getevents" => {
            (OffCpu::BlockIo, "")
        }
        "wait4" | "waitid" | "vfork" => (OffCpu::Other, "for a child process"),
        "mq_timedreceive" | "mq_timedsend" | "msgrcv" | "msgsnd" => (OffCpu::Other, "for a message queue"),
        "pause" | "rt_sigsuspend" | "rt_sigtimedwait" => (OffCpu::Other, "for a signal"),
        _ => return None,
    })
}

/// Whether a call is an `fcntl()` that waits for a lock: `F_SETLKW` or `F_OFD_SETLKW` (`include/uapi/asm-generic/fcntl.h`). Others wait for the
/// server of a file system at most.
pub(crate) fn awaits_file_lock(call: &str, arguments: &[u64]) -> bool {
    call == "fcntl" && arguments.get(1).is_some_and(|command| matches!(command & 0xffff_ffff, 7 | 38))
}

/// The letter of the requests of a userfaultfd (`UFFDIO` of `include/uapi/linux/userfaultfd.h`), which stands in bits 8 to 15 of a request.
const OF_USERFAULTFD: u64 = 0xaa;

/// Whether a call is an `ioctl()` on a userfaultfd, which brings in a page and wakes who faulted on it.
pub(crate) fn serves_fault(call: &str, arguments: &[u64]) -> bool {
    call == "ioctl" && arguments.get(1).is_some_and(|request| request >> 8 & 0xff == OF_USERFAULTFD)
}

/// `ETIMEDOUT` of `include/uapi/asm-generic/errno.h`, as a call returns it.
const TIMED_OUT: u64 = (-110_i64).cast_unsigned();

/// Whether `result` of call `name` says that its time was up: futex(2), semtimedop(2) (`EAGAIN`), poll(2), select(2), `epoll_wait(2)`.
pub(crate) fn timed_out(name: &str, result: u64) -> bool {
    match waits_for(name) {
        Some((OffCpu::Lock, _)) if name == "semtimedop" => result == (-11_i64).cast_unsigned(),
        Some((OffCpu::Lock, _)) => result == TIMED_OUT,
        Some((OffCpu::Poll, _)) => result == 0,
        _ => false,
    }
}

/// Whether call `name` waits for a time and for no file: `poll(NULL, 0, 100)`, `select(0, NULL, NULL, NULL, &time)`.
pub(crate) fn watches_no_file(name: &str, arguments: &[u64]) -> bool {
    let count = match name {
        "poll" | "ppoll" => arguments.get(1),
        "select" | "pselect6" => arguments.first(),
        _ => None,
    };
    // An `int`, or `nfds_t` of which no kernel takes more than 31 bits.
    count.is_some_and(|count| count.trailing_zeros() >= 32)
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Futex(address) => write!(f, "futex {address:#x}"),
            Object::FileDescriptor(descriptor) => write!(f, "fd {descriptor}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_the_kernel_table_says() {
        let cases =
            [(0, "read"), (1, "write"), (202, "futex"), (230, "clock_nanosleep"), (100_000, "nr100000")];
        for (number, name) in cases {
            assert_eq!(super::name(number), name);
        }
    }

    /// Numbers: `FUTEX_*` of futex(2); `poll(fds, nfds, timeout)`, `epoll_wait(epfd, events, maxevents, timeout)`.
    #[test]
    fn reads_operations_and_timeouts_as_the_manual_has_them() {
        for (argument, name) in [
            (0, "FUTEX_WAIT"),
            (128, "FUTEX_WAIT_PRIVATE"),
            (129, "FUTEX_WAKE_PRIVATE"),
            (0x189, "FUTEX_WAIT_BITSET_PRIVATE"),
            (6, "FUTEX_LOCK_PI"),
            (77, "0x4d"),
        ] {
            assert_eq!(FutexOperation::of(argument).to_string(), name);
        }
        assert!(FutexOperation::of(0x86).takes_lock() && !FutexOperation::of(0).takes_lock());
        assert!(FutexOperation::of(0x8b).awaits_condition());
        assert_eq!(timeout("poll", &[0x7ffe_0000, 1, 10]), Some(10));
        assert_eq!(timeout("poll", &[0x7ffe_0000, 1, 0xffff_ffff]), None);
        assert_eq!(timeout("epoll_wait", &[5, 0x7ffe_0000, 8, 250]), Some(250));
        assert_eq!(timeout("epoll_wait", &[5]), None);
        assert_eq!(timeout("read", &[5, 6, 7, 8]), None);
        assert!(awaits_file_lock("fcntl", &[3, 7]) && !awaits_file_lock("fcntl", &[3, 5]));
        // UFFDIO_COPY, and TCGETS of a terminal.
        assert!(serves_fault("ioctl", &[7, 0xc028_aa03]) && !serves_fault("ioctl", &[7, 0x5401]));
    }

    /// Signatures: `futex(uint32_t *uaddr, …)`, `epoll_wait(int epfd, …)`, `poll(struct pollfd *fds, …)`,
    /// `nanosleep(const struct timespec *req, …)` of the manual pages.
    #[test]
    fn reads_objects_as_the_signatures_have_them() {
        assert_eq!(object("futex", 0x7ffe_1234), Some(Object::Futex(0x7ffe_1234)));
        assert_eq!(object("epoll_wait", 5), Some(Object::FileDescriptor(5)));
        assert_eq!(object("poll", 0x7ffe_0000), None);
        assert_eq!(object("nanosleep", 0x7ffe_0000), None);
    }

    #[test]
    fn a_system_call_tells_what_kind_of_wait_it_is() {
        for (call, kind) in [
            ("futex", Some((OffCpu::Lock, ""))),
            ("clock_nanosleep", Some((OffCpu::Sleep, ""))),
            ("ppoll", Some((OffCpu::Poll, ""))),
            ("recvfrom", Some((OffCpu::Socket, ""))),
            ("fsync", Some((OffCpu::BlockIo, ""))),
            ("flock", Some((OffCpu::Lock, "for a file lock"))),
            ("fcntl", None),
            ("waitid", Some((OffCpu::Other, "for a child process"))),
            ("mq_timedreceive", Some((OffCpu::Other, "for a message queue"))),
            ("read", None),
        ] {
            assert_eq!(waits_for(call), kind, "{call}");
        }
    }
}
