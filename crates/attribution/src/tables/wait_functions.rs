//! What a thread waits for, by the kernel functions on its path into the scheduler: one table, with its sources.
//!
//! Names of Linux 5.4 to 6.x: `kernel/futex/`, `kernel/locking/`, `net/core/`, `net/ipv4/`, `net/unix/`, `fs/pipe.c`,
//! `fs/select.c`, `fs/eventpoll.c`, `mm/filemap.c`, `block/`, `fs/jbd2/`, `kernel/time/`, `kernel/exit.c`, `io_uring/`.
//! Functions that any wait passes through (`schedule_timeout`, `wait_woken`, …) identify nothing and are not in the
//! table.

use model::OffCpu;

/// What is waited for, by the innermost function of the path that identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitedFor {
    /// The kind.
    pub(crate) kind: OffCpu,
    /// In words; empty where the kind is enough.
    pub(crate) what: &'static str,
}

const fn row(kind: OffCpu, what: &'static str) -> WaitedFor {
    WaitedFor { kind, what }
}

/// What a thread waits for in `function`.
pub(crate) fn waited_for(function: &str) -> Option<WaitedFor> {
    Some(match base_name(function) {
        "futex_wait_queue"
        | "futex_wait_queue_me"
        | "__futex_wait"
        | "futex_wait"
        | "futex_lock_pi"
        | "futex_wait_multiple"
        | "futex_wait_requeue_pi" => row(OffCpu::Lock, ""),
        name if starts(name, &["__mutex_lock", "mutex_lock", "ww_mutex_lock"]) => {
            row(OffCpu::Lock, "for a kernel mutex")
        }
        name if starts(name, &["rwsem_down_", "__down_read", "__down_write", "down_read", "down_write"]) => {
            row(OffCpu::Lock, "for a kernel rw-semaphore")
        }
        name if starts(name, &["rt_mutex_slowlock", "__rt_mutex_slowlock", "rtlock_slowlock"]) => {
            row(OffCpu::Lock, "for a kernel rt-mutex")
        }
        "__down" | "___down_common" | "__down_common" | "percpu_down_write" | "__percpu_down_read" => {
            row(OffCpu::Lock, "for a kernel semaphore")
        }
        "__lock_sock" | "lock_sock_nested" => row(OffCpu::Lock, "for a socket's lock"),
        "locks_lock_inode_wait" | "do_lock_file_wait" | "flock_lock_inode_wait" => {
            row(OffCpu::Lock, "for a file lock")
        }
        "do_semtimedop" | "__do_semtimedop" => row(OffCpu::Lock, "for a System V semaphore"),
        name => return socket(name).or_else(|| block_io(name)).or_else(|| other(name)),
    })
}

/// Whether a thread in `function` could continue and lets another one run (`kernel/sched/core.c`,
/// `kernel/entry/common.c`; in 5.4 `arch/x86/entry/common.c`).
pub(crate) fn gives_way(function: &str) -> bool {
    let name = base_name(function);
    starts(name, &["preempt_schedule", "irqentry_exit", "raw_irqentry_exit", "exit_to_user"])
        || matches!(name, "syscall_exit_to_user_mode" | "prepare_exit_to_usermode")
        || matches!(
            name,
            "__cond_resched" | "_cond_resched" | "dynamic_cond_resched" | "do_sched_yield" | "yield"
        )
}

fn socket(name: &str) -> Option<WaitedFor> {
    Some(match name {
        "sk_wait_data"
        | "__skb_wait_for_more_packets"
        | "unix_stream_data_wait"
        | "unix_stream_read_generic"
        | "tcp_recvmsg_locked"
        | "tcp_recvmsg"
        | "udp_recvmsg"
        | "udpv6_recvmsg"
        | "__skb_recv_datagram"
        | "tcp_splice_read" => row(OffCpu::Socket, "for data"),
        "sk_stream_wait_memory" | "sock_alloc_send_pskb" | "sock_wait_for_wmem" | "unix_wait_for_peer" => {
            row(OffCpu::Socket, "for room to send")
        }
        "inet_csk_accept" | "inet_csk_wait_for_connect" | "unix_accept" => {
            row(OffCpu::Socket, "for a connection to accept")
        }
        "__inet_stream_connect"
        | "inet_stream_connect"
        | "inet_wait_for_connect"
        | "sk_stream_wait_connect" => row(OffCpu::Socket, "for the connection"),
        "sk_stream_wait_close" | "tcp_close" => row(OffCpu::Socket, "for the connection to close"),
        "sock_recvmsg" | "sock_read_iter" | "sock_sendmsg" | "sock_write_iter" | "__sock_sendmsg"
        | "____sys_recvmsg" | "____sys_sendmsg" => row(OffCpu::Socket, ""),
        _ => return None,
    })
}

fn block_io(name: &str) -> Option<WaitedFor> {
    Some(match name {
        "folio_wait_writeback" | "wait_on_page_writeback" | "__filemap_fdatawait_range" => {
            row(OffCpu::BlockIo, "for pages to be written back")
        }
        "blk_mq_get_tag" | "rq_qos_wait" | "wbt_wait" | "__get_request" => {
            row(OffCpu::BlockIo, "for room in the device's queue")
        }
        "blkdev_issue_flush" => row(OffCpu::BlockIo, "for the device's cache to be flushed"),
        "jbd2_log_wait_commit" | "jbd2_complete_transaction" | "jbd2_log_do_checkpoint" => {
            row(OffCpu::BlockIo, "for the journal")
        }
        "io_schedule"
        | "io_schedule_timeout"
        | "folio_wait_bit_common"
        | "__folio_lock"
        | "__folio_lock_killable"
        | "__lock_page"
        | "__lock_page_killable"
        | "wait_on_page_bit"
        | "wait_on_page_bit_common"
        | "wait_on_page_bit_killable"
        | "__wait_on_buffer"
        | "bit_wait_io"
        | "submit_bio_wait"
        | "blk_execute_rq"
        | "blkdev_direct_IO"
        | "__blkdev_direct_IO_simple"
        | "iomap_dio_rw"
        | "__iomap_dio_rw"
        | "read_events" => row(OffCpu::BlockIo, ""),
        _ => return None,
    })
}

fn other(name: &str) -> Option<WaitedFor> {
    Some(match name {
        "do_nanosleep"
        | "hrtimer_nanosleep"
        | "alarm_timer_nsleep"
        | "msleep"
        | "msleep_interruptible"
        | "usleep_range_state"
        | "usleep_range" => row(OffCpu::Sleep, ""),
        "do_poll"
        | "do_sys_poll"
        | "do_select"
        | "core_sys_select"
        | "poll_schedule_timeout"
        | "ep_poll"
        | "do_epoll_wait" => row(OffCpu::Poll, ""),
        "io_cqring_wait" => row(OffCpu::Poll, "for completions of io_uring"),
        "pipe_read" | "anon_pipe_read" | "fifo_pipe_read" | "pipe_wait_readable" => {
            row(OffCpu::Other, "for data in a pipe")
        }
        "pipe_write" | "anon_pipe_write" | "fifo_pipe_write" | "pipe_wait_writable" => {
            row(OffCpu::Other, "for room in a pipe")
        }
        "pipe_wait" => row(OffCpu::Other, "for a pipe"),
        "eventfd_read" | "eventfd_write" => row(OffCpu::Other, "for an eventfd"),
        "timerfd_read" | "timerfd_read_iter" => row(OffCpu::Sleep, "for a timerfd"),
        "signalfd_read" | "signalfd_read_iter" | "do_sigtimedwait" | "sigsuspend" | "__x64_sys_pause" => {
            row(OffCpu::Other, "for a signal")
        }
        "n_tty_read" | "n_tty_write" => row(OffCpu::Other, "for a terminal"),
        "do_wait" | "kernel_wait4" | "wait_for_vfork_done" => row(OffCpu::Other, "for a child process"),
        "do_msgrcv" | "do_msgsnd" | "wq_sleep" => row(OffCpu::Other, "for a message queue"),
        "synchronize_rcu" | "synchronize_rcu_expedited" | "wait_rcu_gp" | "__wait_rcu_gp" => {
            row(OffCpu::Other, "for an RCU grace period")
        }
        "do_signal_stop" | "ptrace_stop" => row(OffCpu::Other, "stopped by a signal or a debugger"),
        "worker_thread" | "kthread_worker_fn" | "smpboot_thread_fn" | "rcu_gp_kthread" | "kswapd" => {
            row(OffCpu::Other, "for work, as kernel threads do")
        }
        name if name.starts_with("wait_for_completion") => {
            row(OffCpu::Other, "for another part of the kernel (a completion)")
        }
        _ => return None,
    })
}

/// The protocol of a socket function, where its name shows it.
pub(crate) fn protocol(function: &str) -> Option<&'static str> {
    let rows = [
        ("tcp_", "TCP"),
        ("inet_csk_", "TCP"),
        ("udp_", "UDP"),
        ("udpv6_", "UDP"),
        ("unix_stream_", "Unix stream"),
        ("unix_dgram_", "Unix datagram"),
        ("unix_", "Unix"),
        ("netlink_", "netlink"),
        ("packet_", "packet"),
        ("vsock_", "vsock"),
        ("sctp_", "SCTP"),
    ];
    rows.into_iter().find(|(prefix, _)| function.starts_with(prefix)).map(|(_, protocol)| protocol)
}

/// Whether `function` reads a page of a file or of swap into memory for a fault.
pub(crate) fn reads_page_in(function: &str) -> bool {
    matches!(
        base_name(function),
        "filemap_fault" | "do_swap_page" | "__do_fault" | "swapin_readahead" | "shmem_fault"
    )
}

/// The name without the compiler's suffixes for copies of a function: `.constprop.0`, `.isra.0`, `.part.0`.
fn base_name(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

fn starts(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths as `perf record -g -e sched:sched_switch` shows them, innermost first, without the functions common to
    /// all waits.
    #[test]
    fn the_innermost_telling_function_decides() {
        let cases: &[(&[&str], OffCpu, &str)] = &[
            (&["__schedule", "schedule", "futex_wait_queue", "__futex_wait"], OffCpu::Lock, ""),
            (
                &["schedule_timeout", "wait_woken", "sk_wait_data", "tcp_recvmsg_locked"],
                OffCpu::Socket,
                "for data",
            ),
            (&["io_schedule", "folio_wait_bit_common", "filemap_fault"], OffCpu::BlockIo, ""),
            (&["schedule", "do_nanosleep", "hrtimer_nanosleep"], OffCpu::Sleep, ""),
            (&["schedule_hrtimeout_range", "ep_poll"], OffCpu::Poll, ""),
            (&["schedule", "pipe_read.constprop.0", "vfs_read"], OffCpu::Other, "for data in a pipe"),
            (&["schedule_preempt_disabled", "__mutex_lock.isra.0"], OffCpu::Lock, "for a kernel mutex"),
        ];
        for (path, kind, what) in cases {
            let found = path.iter().find_map(|function| waited_for(function)).expect("a row");
            assert_eq!((found.kind, found.what), (*kind, *what), "{path:?}");
        }
        for function in ["schedule", "__schedule", "schedule_timeout", "wait_woken", "vfs_read"] {
            assert_eq!(waited_for(function), None, "{function}");
        }
    }

    #[test]
    fn protocols_by_prefix() {
        assert_eq!(protocol("tcp_recvmsg_locked"), Some("TCP"));
        assert_eq!(protocol("unix_stream_recvmsg"), Some("Unix stream"));
        assert_eq!(protocol("inet_recvmsg"), None);
    }
}
