//! What a page fault has to do beyond bringing in one new page, by the kernel functions that run in it.
//!
//! `mm/memory.c`, `mm/huge_memory.c`, `mm/hugetlb.c` and `mm/filemap.c` of Linux 5.4 to 6.x. Compilers inline some of them into
//! their callers, so a row has every name on the way to the same work.

/// The words, by functions: what the faults did, in the plural. A later row says more than an earlier one.
const WORK: [(&str, &[&str]); 7] = [
    ("pages of a mapped file", &["filemap_map_pages", "filemap_fault", "do_fault_around"]),
    ("shared memory", &["shmem_fault", "shmem_get_folio_gfp", "shmem_getpage_gfp"]),
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
