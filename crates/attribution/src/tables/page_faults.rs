//! What a page fault has to do beyond bringing in one new page, by the kernel functions that run in it.
//!
//! `mm/memory.c`, `mm/huge_memory.c`, `mm/hugetlb.c` and `mm/filemap.c` of Linux 5.4 to 6.x. Compilers inline some of them into
//! their callers, so a row has every name on the way to the same work.

/// The words, by functions: what the faults did, in the plural. A later row says more than an earlier one.
const WORK: [(&str, &[&str]); 7] = [
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
        ],
    ),
    ("pages swapped in", &["do_swap_page", "swapin_readahead"]),
    ("served by userfaultfd", &["handle_userfault"]),
];

/// What a page fault in which `function` runs does: a rank, which is higher the more it says, and the words.
pub(crate) fn work_of(function: &str) -> Option<(usize, &'static str)> {
    let name = function.split('.').next().unwrap_or(function);
    WORK.iter().enumerate().find(|(_, (_, names))| names.contains(&name)).map(|(rank, row)| (rank, row.0))
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
