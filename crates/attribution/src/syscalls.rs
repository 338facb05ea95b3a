//! Names of system calls by number, x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`).

use syscalls::x86_64::Sysno;

/// The name of call `number`, or `nr<number>` where the table does not know it.
pub(crate) fn name(number: u64) -> String {
    usize::try_from(number)
        .ok()
        .and_then(Sysno::new)
        .map_or_else(|| format!("nr{number}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn knows_what_the_kernel_table_says() {
        let cases =
            [(0, "read"), (1, "write"), (202, "futex"), (230, "clock_nanosleep"), (100_000, "nr100000")];
        for (number, name) in cases {
            assert_eq!(super::name(number), name);
        }
    }
}
