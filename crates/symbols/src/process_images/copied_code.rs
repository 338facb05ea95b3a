//! Which copies of code that lay in no file served: what a slice needs to decode as the recording does.

use std::collections::BTreeSet;

use model::{Pid, Tsc};

use super::ProcessImages;
use crate::code_copies::to_bytes;

impl ProcessImages {
    /// The number of the copy that has the byte at `address`; `None` where a file has it, or nothing.
    pub fn code_copy_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<u32> {
        let piece = self.user_piece(pid, address, at)?;
        let (_, &number) = self.code_copies.at(pid, at).pieces.get(address)?;
        piece.image.code(&self.search).is_none().then_some(number)
    }

    /// A file of the copies that `numbers` name, and of those of the same memory at other times, which say from when on one holds; `None` where
    /// there are none.
    pub fn code_copies_file(&self, numbers: &BTreeSet<u32>) -> Option<Vec<u8>> {
        (!numbers.is_empty()).then(|| to_bytes(self.code_copies.of_the_same_memory(numbers)))
    }
}
