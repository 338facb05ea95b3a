//! The file of code copies beside a capture, as `tailtrace record` writes it: what stood in memory that no file backs.
//!
//! Input: for each copy its process, address, bytes, and the first and the last TSC at which they were there. Output: the file, by
//! `docs/recording.md`, "Code in no file"; written anew here, from that description.

/// A page, as the kernel has it.
pub(crate) const PAGE: u64 = 4096;

/// What was read from a process's memory.
pub(crate) struct Copy {
    pub(crate) pid: u32,
    pub(crate) address: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The file's bytes.
pub(crate) fn file(copies: &[Copy]) -> Vec<u8> {
    let mut out = b"tailtrace-code/1".to_vec();
    out.extend((copies.len() as u64).to_le_bytes());
    let mut offset = (out.len() + 40 * copies.len()) as u64;
    for copy in copies {
        out.extend([copy.pid.to_le_bytes(), (copy.bytes.len() as u32).to_le_bytes()].concat());
        out.extend([copy.address, copy.from, copy.to, offset].map(u64::to_le_bytes).concat());
        offset += copy.bytes.len() as u64;
    }
    out.extend(copies.iter().flat_map(|copy| &copy.bytes));
    out
}
