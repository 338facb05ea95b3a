//! Paths as `perf record -g -e sched:sched_switch` shows them, innermost first.

use super::*;

fn found(path: &[&str]) -> (OffCpu, &'static str) {
    let found = waited_for(path.iter().copied()).unwrap_or_else(|| panic!("no row for {path:?}"));
    (found.kind, found.what)
}

/// Without the functions common to all waits.
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
        assert_eq!(found(path), (*kind, *what), "{path:?}");
    }
    for function in ["schedule", "__schedule", "schedule_timeout", "wait_woken", "vfs_read"] {
        assert!(!is_wait(function), "{function}");
    }
}

/// The kernel's own ways: `mm/memcontrol.c`, `mm/vmscan.c`, `mm/page-writeback.c`, `mm/migrate.c`, `fs/nfs/`, `kernel/freezer.c`.
/// None of these waits is for a disk, though several sleep in `io_schedule`.
#[test]
fn a_wait_for_memory_or_a_server_is_no_disks() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["schedule_timeout_killable", "__mem_cgroup_handle_over_high", "irqentry_exit_to_user_mode"],
            "memory.high",
        ),
        (&["schedule_timeout", "reclaim_throttle", "shrink_node", "do_try_to_free_pages"], "throttled until"),
        (&["schedule", "throttle_direct_reclaim", "try_to_free_pages"], "throttled until"),
        (
            &["io_schedule_timeout", "wait_iff_congested", "shrink_inactive_list", "shrink_lruvec"],
            "throttled until",
        ),
        (
            &["io_schedule_timeout", "balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"],
            "dirty pages",
        ),
        (&["schedule", "compact_zone", "compact_zone_order", "try_to_compact_pages"], "compacted"),
        (
            &["io_schedule", "migration_entry_wait_on_locked", "__migration_entry_wait", "do_swap_page"],
            "being moved",
        ),
        (&["schedule", "rpc_wait_bit_killable", "__wait_on_bit", "rpc_wait_for_completion_task"], "(NFS)"),
        (
            &["io_schedule", "folio_wait_bit_common", "filemap_update_page", "filemap_read", "nfs_file_read"],
            "(NFS)",
        ),
        (&["schedule", "request_wait_answer", "fuse_simple_request"], "(FUSE)"),
        (&["schedule", "__refrigerator", "get_signal"], "frozen"),
    ];
    for (path, what) in cases {
        let (kind, told) = found(path);
        assert_eq!(kind, OffCpu::Other, "{path:?}");
        assert!(told.contains(what), "{path:?}: {told}");
    }
}

/// Reclaim that waits for a page to be written is a disk's; so is a flush that waits for its completion.
#[test]
fn what_waits_for_a_disk_in_the_end_is_the_disks() {
    let written = ["io_schedule", "folio_wait_bit_common", "folio_wait_writeback", "shrink_folio_list"];
    assert_eq!(found(&written), (OffCpu::BlockIo, "for pages to be written back"));
    let flush =
        ["io_schedule_timeout", "wait_for_completion_io_timeout", "submit_bio_wait", "blkdev_issue_flush"];
    assert_eq!(found(&flush).0, OffCpu::BlockIo);
}

/// A page-in below a call that waits for other things itself: what lies outside of the fault is not its purpose.
#[test]
fn a_purpose_ends_at_the_entry_of_the_fault() {
    let path = [
        "io_schedule",
        "folio_wait_bit_common",
        "filemap_fault",
        "do_user_addr_fault",
        "asm_exc_page_fault",
        "nfs_file_write",
    ];
    assert_eq!(found(&path), (OffCpu::BlockIo, ""));
}

/// `down_read(&mm->mmap_lock)` in a fault and a `mmap()`, `inode_lock()` in a write, and one that no name shows.
#[test]
fn a_semaphore_is_named_by_who_takes_it() {
    for (caller, what) in [
        ("lock_mm_and_find_vma", "mmap_lock"),
        ("do_user_addr_fault", "mmap_lock"),
        ("vm_mmap_pgoff", "mmap_lock"),
        ("do_mprotect_pkey.constprop.0", "mmap_lock"),
        ("ext4_buffered_write_iter", "inode"),
        ("do_unlinkat", "inode"),
        ("ext4_map_blocks", "for a kernel rw-semaphore"),
    ] {
        let path = ["schedule", "rwsem_down_write_slowpath", "down_write_killable", caller, "do_syscall_64"];
        let (kind, told) = found(&path);
        assert_eq!(kind, OffCpu::Lock);
        assert!(told.contains(what), "{caller}: {told}");
    }
}

#[test]
fn protocols_by_prefix() {
    assert_eq!(protocol("tcp_recvmsg_locked"), Some("TCP"));
    assert_eq!(protocol("unix_stream_recvmsg"), Some("Unix stream"));
    assert_eq!(protocol("inet_recvmsg"), None);
}

/// A fault that another thread serves reads nothing itself.
#[test]
fn a_fault_that_a_thread_serves_brings_no_data() {
    let fault =
        ["schedule", "handle_userfault", "do_anonymous_page", "handle_mm_fault", "asm_exc_page_fault"];
    let waited = waited_for(fault.into_iter()).expect("a row");
    assert_eq!((waited.kind, waited.what), (OffCpu::Other, "for the handler of its userfaultfd"));
    assert!(waited.brings_no_data());
}
