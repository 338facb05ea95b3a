//! What a thread waits for, by the kernel functions on its path into the scheduler: one table, with its sources.
//!
//! Names of Linux 5.4 to 6.x: `kernel/futex/`, `kernel/locking/`, `net/core/`, `net/ipv4/`, `net/unix/`, `fs/pipe.c`,
//! `fs/select.c`, `fs/eventpoll.c`, `mm/filemap.c`, `block/`, `fs/jbd2/`, `kernel/time/`, `kernel/exit.c`, `io_uring/`;
//! waits for memory, throttling and network file systems: [`mod@inner`]. Functions that any wait passes through
//! (`schedule_timeout`, `wait_woken`, …) identify nothing and are not in the table.

mod inner;

use model::{Cause, OffCpu};

use crate::tables::kernel_entries::entry_cause;

/// What is waited for, by the innermost function of the path that identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitedFor {
    /// The kind.
    pub(crate) kind: OffCpu,
    /// In words; empty where the kind is enough.
    pub(crate) what: &'static str,
    /// How much the function alone shows.
    scope: Scope,
}

/// What a wait for the lock of a process's address space is for.
pub(crate) const MMAP_LOCK: &str = "for the lock of its address space (mmap_lock)";

/// How much a function shows of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// What is waited for.
    Whole,
    /// A way of waiting that several purposes share (`io_schedule`): a function further out may show the purpose.
    Way,
    /// A rw-semaphore: its caller shows which.
    Semaphore,
    /// For memory: freed, compacted, or allowed by a control group.
    Memory,
    /// For a thread that serves page faults.
    Served,
}

const fn row(kind: OffCpu, what: &'static str) -> WaitedFor {
    WaitedFor { kind, what, scope: Scope::Whole }
}

const fn way(kind: OffCpu, what: &'static str) -> WaitedFor {
    WaitedFor { kind, what, scope: Scope::Way }
}

impl WaitedFor {
    /// Whether a page fault that waits so reads no data itself: it waits for a lock, for room, or for another thread.
    pub(crate) fn brings_no_data(self) -> bool {
        self.kind == OffCpu::Lock || matches!(self.scope, Scope::Memory | Scope::Served)
    }
}

const STOPPED: WaitedFor = row(OffCpu::Other, "stopped by a signal or a debugger");

/// What task state `state` shows where no function is known: `T` (stopped), `t` (traced), `include/linux/sched.h`.
pub(crate) fn waited_in_state(state: char) -> Option<WaitedFor> {
    matches!(state, 'T' | 't').then_some(STOPPED)
}

/// What a thread waits for that went to sleep in these functions of the kernel, innermost first: the one rule for
/// verdicts and views. The innermost function with a row decides. Where it is only a way of waiting, a function
/// further out shows the purpose, up to the entry of the innermost page fault or interrupt.
pub(crate) fn waited_for<'f>(mut functions: impl Iterator<Item = &'f str>) -> Option<WaitedFor> {
    let found = functions.by_ref().find_map(in_function)?;
    Some(match found.scope {
        Scope::Whole | Scope::Memory | Scope::Served => found,
        Scope::Way => {
            let mut further = functions.take_while(|function| entry_cause(function) == Cause::KernelUnknown);
            further.find_map(purpose).unwrap_or(found)
        }
        Scope::Semaphore => {
            let caller = functions.map(base_name).find(|function| !inner::takes_semaphore(function));
            let which = caller.and_then(inner::semaphore_of);
            which.map_or(found, |what| row(OffCpu::Lock, what))
        }
    })
}

/// Whether a thread that went to sleep in `function` waits.
pub(crate) fn is_wait(function: &str) -> bool {
    in_function(function).is_some()
}

/// The purpose of a way of waiting, where `function` has called it.
fn purpose(function: &str) -> Option<WaitedFor> {
    let name = base_name(function);
    inner::memory(name)
        .or_else(|| inner::remote(name))
        .or_else(|| block_io(name))
        .filter(|row| row.scope != Scope::Way)
}

/// What a thread waits for in `function`.
fn in_function(function: &str) -> Option<WaitedFor> {
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
            WaitedFor { scope: Scope::Semaphore, ..row(OffCpu::Lock, "for a kernel rw-semaphore") }
        }
        "__vma_enter_locked" => row(OffCpu::Lock, "for the lock of a mapping (VMA)"),
        name if starts(name, &["rt_mutex_slowlock", "__rt_mutex_slowlock", "rtlock_slowlock"]) => {
            row(OffCpu::Lock, "for a kernel rt-mutex")
        }
        "__down" | "___down_common" | "__down_common" | "percpu_down_write" | "__percpu_down_read"
        | "percpu_rwsem_wait" => row(OffCpu::Lock, "for a kernel semaphore"),
        "__lock_sock" | "lock_sock_nested" => row(OffCpu::Lock, "for a socket's lock"),
        "locks_lock_inode_wait" | "do_lock_file_wait" | "flock_lock_inode_wait" => {
            row(OffCpu::Lock, "for a file lock")
        }
        "do_semtimedop" | "__do_semtimedop" => row(OffCpu::Lock, "for a System V semaphore"),
        name => {
            let found = socket(name).or_else(|| inner::memory(name)).or_else(|| inner::remote(name));
            return found.or_else(|| block_io(name)).or_else(|| other(name));
        }
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
        "submit_bio_wait"
        | "blk_execute_rq"
        | "blkdev_direct_IO"
        | "__blkdev_direct_IO_simple"
        | "iomap_dio_rw"
        | "__iomap_dio_rw"
        | "__wait_on_buffer"
        | "read_events" => row(OffCpu::BlockIo, ""),
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
        | "bit_wait_io" => way(OffCpu::BlockIo, ""),
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
        "worker_thread" | "kthread_worker_fn" | "smpboot_thread_fn" | "rcu_gp_kthread" | "kswapd"
        | "kcompactd" | "khugepaged" => row(OffCpu::Other, "for work, as kernel threads do"),
        "do_signal_stop" | "ptrace_stop" => STOPPED,
        "__refrigerator" | "do_freezer_trap" => {
            row(OffCpu::Other, "frozen, with its control group or for a suspend")
        }
        "handle_userfault" => {
            WaitedFor { scope: Scope::Served, ..row(OffCpu::Other, "for the handler of its userfaultfd") }
        }
        name if name.starts_with("wait_for_completion") => {
            way(OffCpu::Other, "for another part of the kernel (a completion)")
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
mod tests;
