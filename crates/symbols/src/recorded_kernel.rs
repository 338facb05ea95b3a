//! What a recording says of the kernel that ran: where its text and its modules lay.

use model::{BuildId, Mapping};

use crate::timeline::KERNEL_HALF;

/// What the recording says of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedKernel<'a> {
    /// All its mappings: its text and its modules.
    pub(crate) mappings: &'a [&'a Mapping],
    pub(crate) build_id: Option<&'a BuildId>,
}

impl RecordedKernel<'_> {
    /// The mapping of the kernel's own text.
    pub(crate) fn text(&self) -> Option<&Mapping> {
        self.mappings.iter().copied().find(|mapping| mapping.path.starts_with("[kernel.kallsyms]"))
    }

    /// The symbol that perf names after the bracket (`[kernel.kallsyms]_text`), and its actual address, which perf
    /// writes into the mapping's file offset.
    pub(crate) fn reference(&self) -> Option<(&str, u64)> {
        let text = self.text()?;
        let symbol =
            text.path.rsplit_once(']').map(|(_, symbol)| symbol).filter(|symbol| !symbol.is_empty())?;
        (text.file_offset >= KERNEL_HALF).then_some((symbol, text.file_offset))
    }
}
