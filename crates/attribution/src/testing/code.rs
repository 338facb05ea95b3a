//! Machine code for tests that need no names.

use model::{Pid, Tsc};

use crate::inputs::functions::{Function, Functions};

/// Code of one block each, 16 bytes apart.
pub(crate) struct Code<'a>(pub(crate) &'a [&'a [u8]]);

impl Functions for Code<'_> {
    fn function_at(&self, _: Pid, _: u64, _: Tsc) -> Option<Function> {
        None
    }

    fn code_at(&self, _: Pid, address: u64, _: Tsc, into: &mut [u8]) -> usize {
        let block = usize::try_from(address / 16).expect("few blocks");
        let code = self.0[block];
        into[..code.len()].copy_from_slice(code);
        code.len()
    }
}
