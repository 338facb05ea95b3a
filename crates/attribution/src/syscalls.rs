//! System calls by number, x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`), and what their first argument names.

use std::fmt;

use syscalls::x86_64::Sysno;

/// The name of call `number`, or `nr<number>` where the table does not know it.
pub(crate) fn name(number: u64) -> String {
    usize::try_from(number)
        .ok()
        .and_then(Sysno::new)
        .map_or_else(|| format!("nr{number}"), |call| call.name().to_owned())
}

/// What a system call works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// The futex word at this address.
    Futex(u64),
    /// This file descriptor.
    FileDescriptor(u32),
}

/// What the first argument of call `name` names, for calls that may wait.
pub(crate) fn object(name: &str, first_argument: u64) -> Option<Object> {
    match name {
        "futex" | "futex_wait" | "futex_wake" | "futex_requeue" => Some(Object::Futex(first_argument)),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" | "write" | "pwrite64" | "writev" | "pwritev"
        | "pwritev2" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "accept"
        | "accept4" | "connect" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "fsync" | "fdatasync"
        | "syncfs" | "sync_file_range" | "ftruncate" | "fallocate" | "ioctl" | "flock" | "fcntl"
        | "getdents64" | "io_uring_enter" => {
            // The kernel takes the low 32 bits of the register.
            Some(Object::FileDescriptor(u32::try_from(first_argument & 0xffff_ffff).ok()?))
        }
        _ => None,
    }
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

    /// Signatures: `futex(uint32_t *uaddr, …)`, `epoll_wait(int epfd, …)`, `poll(struct pollfd *fds, …)`,
    /// `nanosleep(const struct timespec *req, …)` of the manual pages.
    #[test]
    fn reads_objects_as_the_signatures_have_them() {
        assert_eq!(object("futex", 0x7ffe_1234), Some(Object::Futex(0x7ffe_1234)));
        assert_eq!(object("epoll_wait", 5), Some(Object::FileDescriptor(5)));
        assert_eq!(object("poll", 0x7ffe_0000), None);
        assert_eq!(object("nanosleep", 0x7ffe_0000), None);
    }
}
