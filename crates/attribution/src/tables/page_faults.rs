//! What a page fault has to do beyond bringing in one new page, by the kernel functions that run in it.
//!
//! `mm/memory.c`, `mm/huge_memory.c`, `mm/hugetlb.c` and `mm/filemap.c` of Linux 5.4 to 6.x. Compilers inline some of them into
//! their callers, so a row has every name on the way to the same work. Where `do_cow_fault` is inlined, only what copies the page shows it:
//! `copy_page`, `copy_mc_*` (`arch/x86/lib`).

/// What a page fault did, as far as its functions show it: a bit for each row of [`WORK`].
pub(crate) type FaultWork = u8;

/// The words, by functions: what the faults did, in the plural. A later row says more than an earlier one.
const WORK: [(&str, &[&str]); 8] = [
    ("pages of a mapped file", &["filemap_map_pages", "filemap_fault", "do_fault_around"]),
    ("pages of shared memory or tmpfs", &["shmem_fault", "shmem_get_folio_gfp", "shmem_getpage_gfp"]),
    ("pages made writable", &["wp_page_reuse", "do_shared_fault", "wp_page_shared"]),
    (
        "huge pages, zeroed",
        &["do_huge_pmd_anonymous_page", "hugetlb_no_page", "clear_huge_page", "folio_zero_user"],
    ),
    (
        "copies on write",
        &[
            "wp_page_copy",
            "do_cow_fault",
            "hugetlb_wp",
            "hugetlb_cow",
            "copy_user_huge_page",
            "copy_user_large_folio",
            "copy_page",
            "copy_mc_to_kernel",
            "copy_mc_fragile",
            "copy_mc_enhanced_fast_string",
        ],
    ),
    // These copy, too.
    ("pages moved to another NUMA node", &["migrate_misplaced_page", "migrate_misplaced_folio"]),
    ("pages swapped in", &["do_swap_page", "swapin_readahead"]),
    ("served by userfaultfd", &["handle_userfault"]),
];

/// The rows of pages that a file has, and that of copies.
const OF_FILE: FaultWork = 0b11;
const COPIES: usize = 4;

/// What a page fault in which `function` runs does.
pub(crate) fn work_of(function: &str) -> FaultWork {
    let name = function.split('.').next().unwrap_or(function);
    WORK.iter().position(|(_, names)| names.contains(&name)).map_or(0, |row| 1 << row)
}

/// What a page fault did, in the plural; none where that is to bring in one new page.
pub(crate) fn words_of(work: FaultWork) -> Option<&'static str> {
    match work.checked_ilog2()? as usize {
        COPIES if work & OF_FILE != 0 => Some("copies on write of a file's pages"),
        row => Some(WORK[row].0),
    }
}

/// Bits of a page fault's error code (`enum x86_pf_error_code`; SDM vol. 3, "Interrupt 14"): the page was present, it was written, user code did
/// it.
const PRESENT: u64 = 1;
const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// A reserved bit, a protection key, a shadow stack or an enclave was the reason.
const FOR_ANOTHER_REASON: u64 = 1 << 3 | 1 << 5 | 1 << 6 | 1 << 15;

/// What a page fault did by its error code alone, in the plural. A write barrier by `mprotect()` or of a userfaultfd looks the same.
pub(crate) fn work_by_error(code: u64) -> Option<&'static str> {
    let is_write_to_page = code & (PRESENT | WRITE | FOR_ANOTHER_REASON) == PRESENT | WRITE;
    is_write_to_page.then_some("writes to pages that were not writable, such as copies on write")
}

/// Whether user code faulted, and not the kernel.
pub(crate) fn is_of_user_code(code: u64) -> bool {
    code & USER != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `do_cow_fault` of Linux 6.1, inlined: it has the file's page brought in, and copies it.
    #[test]
    fn the_row_that_says_most_counts() {
        let words = |functions: &[&str]| {
            words_of(functions.iter().fold(0, |work, function| work | work_of(function)))
        };
        assert_eq!(words(&["vfs_read"]), None);
        assert_eq!(words(&["shmem_fault"]), Some("pages of shared memory or tmpfs"));
        assert_eq!(words(&["shmem_fault", "copy_page"]), Some("copies on write of a file's pages"));
        assert_eq!(words(&["filemap_fault", "copy_mc_to_kernel"]), Some("copies on write of a file's pages"));
        assert_eq!(words(&["wp_page_copy.isra.0", "copy_page"]), Some("copies on write"));
        assert_eq!(words(&["migrate_misplaced_page", "copy_page"]), Some("pages moved to another NUMA node"));
        assert_eq!(words(&["do_swap_page", "copy_page"]), Some("pages swapped in"));
    }

    /// Codes of `exceptions:page_fault_user` as the SDM defines the bits: 4 is user mode, 16 an instruction fetch.
    #[test]
    fn a_write_to_a_page_that_is_there_is_known_by_its_error_code() {
        for (code, is_known) in [
            (7, true),
            (3, true),
            (6, false),
            (5, false),
            (4, false),
            (0x14, false),
            (0x27, false),
            (0xf, false),
            (0x8007, false),
        ] {
            assert_eq!(work_by_error(code).is_some(), is_known, "{code:#x}");
        }
    }
}
