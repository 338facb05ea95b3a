//! Waits inside the kernel for what a thread did not ask for itself: memory, the file system of another machine, the
//! locks of its address space and of inodes.
//!
//! Names of Linux 5.4 to 6.x: `mm/memcontrol.c`, `mm/vmscan.c`, `mm/compaction.c`, `mm/migrate.c`, `mm/page-writeback.c`,
//! `mm/backing-dev.c`; `net/sunrpc/sched.c`, `fs/nfs/`, `fs/smb/client/transport.c`, `net/ceph/`, `net/9p/client.c`,
//! `fs/fuse/dev.c`; `kernel/locking/rwsem.c`, `arch/x86/mm/fault.c`, `mm/mmap.c`, `mm/mprotect.c`, `mm/gup.c`, `fs/namei.c`.

use model::OffCpu;

use super::{Scope, WaitedFor, row, starts};

/// Waits for memory. Uninterruptible, and of these only the pages of a disk are a disk's.
pub(super) fn memory(name: &str) -> Option<WaitedFor> {
    let what = match name {
        "mem_cgroup_handle_over_high" | "__mem_cgroup_handle_over_high" => {
            "throttled: its memory control group is over memory.high"
        }
        "mem_cgroup_oom_synchronize" => "its memory control group is out of memory",
        "throttle_direct_reclaim" | "reclaim_throttle" | "wait_iff_congested" | "congestion_wait" => {
            "throttled until other threads have reclaimed memory"
        }
        name if starts(
            name,
            &["shrink_", "try_to_free_", "do_try_to_free_", "__alloc_pages_direct_reclaim"],
        ) =>
        {
            "for memory to be reclaimed"
        }
        "compact_zone"
        | "compact_zone_order"
        | "try_to_compact_pages"
        | "__alloc_pages_direct_compact"
        | "isolate_migratepages_block" => "for memory to be compacted",
        name if name.trim_start_matches('_').starts_with("migration_entry_wait") => {
            "for a page that is being moved in memory"
        }
        name if starts(name, &["balance_dirty_pages"]) => {
            "throttled: too many dirty pages are not written back yet"
        }
        _ => return None,
    };
    Some(WaitedFor { scope: Scope::Memory, ..row(OffCpu::Other, what) })
}

/// Waits for a file system that another machine or process serves.
pub(super) fn remote(name: &str) -> Option<WaitedFor> {
    Some(match name {
        name if starts(name, &["rpc_wait_", "__rpc_wait_", "nfs_", "nfs3_", "nfs4_"]) => {
            row(OffCpu::Other, "for the server of a network file system (NFS)")
        }
        "wait_for_response" | "ceph_osdc_wait_request" | "ceph_mdsc_wait_request" | "p9_client_rpc" => {
            row(OffCpu::Other, "for the server of a network file system")
        }
        "request_wait_answer" | "fuse_wait_on_page_writeback" => {
            row(OffCpu::Other, "for the process that serves a file system (FUSE)")
        }
        _ => return None,
    })
}

/// Whether `name` only takes a rw-semaphore for its caller.
pub(super) fn takes_semaphore(name: &str) -> bool {
    starts(name, &["rwsem_", "call_rwsem_", "__down_", "down_"])
}

/// Which rw-semaphore `caller` takes, where its name shows it; several functions take others as well, and are not here.
pub(super) fn semaphore_of(caller: &str) -> Option<&'static str> {
    const MAPS: [&str; 44] = [
        "mmap_read_lock",
        "mmap_read_lock_killable",
        "mmap_write_lock",
        "mmap_write_lock_killable",
        "do_user_addr_fault",
        "__do_page_fault",
        "do_page_fault",
        "exc_page_fault",
        "lock_mm_and_find_vma",
        "get_mmap_lock_carefully",
        "vm_mmap_pgoff",
        "ksys_mmap_pgoff",
        "__vm_munmap",
        "vm_munmap",
        "__x64_sys_munmap",
        "__do_sys_munmap",
        "do_mprotect_pkey",
        "do_madvise",
        "madvise_lock",
        "__do_sys_brk",
        "__x64_sys_brk",
        "vm_brk_flags",
        "__do_sys_mremap",
        "__x64_sys_mremap",
        "do_mlock",
        "__do_sys_mlockall",
        "__do_sys_munlockall",
        "__mm_populate",
        "exit_mmap",
        "exit_mm",
        "dup_mmap",
        "setup_arg_pages",
        "fixup_user_fault",
        "__get_user_pages_locked",
        "get_user_pages_unlocked",
        "__gup_longterm_locked",
        "access_remote_vm",
        "__access_remote_vm",
        "process_vm_rw_core",
        "m_start",
        "collapse_huge_page",
        "task_numa_work",
        "do_shmat",
        "ksys_shmdt",
    ];
    const INODES: [&str; 27] = [
        "vfs_unlink",
        "vfs_truncate",
        "vfs_setxattr",
        "vfs_removexattr",
        "vfs_utimes",
        "do_truncate",
        "chmod_common",
        "chown_common",
        "open_last_lookups",
        "do_last",
        "lookup_slow",
        "filename_create",
        "do_unlinkat",
        "do_rmdir",
        "lock_rename",
        "iterate_dir",
        "wrap_directory_iterator",
        "generic_file_write_iter",
        "ext4_file_write_iter",
        "ext4_buffered_write_iter",
        "ext4_dio_write_iter",
        "ext4_file_read_iter",
        "ext4_dio_read_iter",
        "ext4_fallocate",
        "xfs_ilock",
        "btrfs_inode_lock",
        "walk_component",
    ];
    match caller {
        _ if MAPS.contains(&caller) => Some(super::MMAP_LOCK),
        "__vma_start_write" | "vma_start_write" => Some("for the lock of a mapping (VMA)"),
        _ if INODES.contains(&caller) => Some("for the lock of a file or directory (its inode)"),
        _ => None,
    }
}
