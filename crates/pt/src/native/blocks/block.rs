//! A block of code, and what is needed to make one.

use model::{CodeBytes, Pid, Tsc};

use crate::flow::BlockEnd;

/// The number of the block that is decoded anew at each visit.
pub(in crate::native) const LOOSE: u32 = 0;
/// No block.
pub(in crate::native) const NONE: u32 = u32::MAX;

/// How execution leaves a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Exit {
    /// On to the next instruction: the block is long enough.
    Long,
    /// On to the next instruction, in another section or in none.
    Border,
    /// By a direct jump.
    Jump,
    /// By a direct jump over the mark of an emulated PTWRITE: the next 64 branches spell its payload.
    OverMark,
    /// By a direct call.
    Call,
    /// By a conditional branch: a bit says which way.
    Branch,
    /// By a near return: a taken bit or a TIP.
    Return,
    /// By an indirect jump: a TIP.
    Indirect,
    /// By an indirect call: a TIP.
    IndirectCall,
    /// By a far transfer: a TIP.
    Far,
}

/// Instructions one after the other in memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Block {
    /// Address of the first instruction.
    pub(in crate::native) ip: u64,
    /// Address of the last one.
    pub(in crate::native) end_ip: u64,
    /// The address after it.
    pub(in crate::native) next: u64,
    /// Where its direct branch leads.
    pub(in crate::native) target: u64,
    /// How many instructions.
    pub(in crate::native) instructions: u16,
    pub(in crate::native) exit: Exit,
    pub(in crate::native) end: BlockEnd,
    /// Whether packets may bind to an instruction inside: PTWRITE, MOV CR3.
    pub(in crate::native) holds_bound: bool,
    /// The blocks at `next` and `target`, once known and where they may be linked.
    pub(in crate::native) next_link: u32,
    pub(in crate::native) target_link: u32,
    /// Where the marks of its instructions are kept; [`NONE`] for [`LOOSE`].
    pub(super) marks: u32,
}

impl Block {
    /// Whether it ends with a direct call that leaves a return address. A call of the next instruction only reads its
    /// own address, and never returns.
    #[inline]
    pub(in crate::native) fn leaves_address(&self) -> bool {
        self.exit == Exit::Call && self.target != self.next
    }

    /// Where its branch leads, taken or not: the address, and the block there or [`NONE`].
    #[inline]
    pub(in crate::native) fn way(&self, taken: bool) -> (u64, u32) {
        if taken { (self.target, self.target_link) } else { (self.next, self.next_link) }
    }

    /// The block to which it leads without a packet, once known.
    #[inline]
    pub(in crate::native) fn way_on(&self) -> u32 {
        if self.exit == Exit::Long { self.next_link } else { self.target_link }
    }
}

/// Which code cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Missing {
    /// No byte is known.
    NoCode(u64),
    /// Its bytes are not those of a whole instruction.
    NoInstruction(u64),
}

/// Where code is read from, now.
#[derive(Clone, Copy)]
pub(in crate::native) struct Source<'c> {
    pub(in crate::native) code: &'c dyn CodeBytes,
    pub(in crate::native) pid: Pid,
    pub(in crate::native) at: Tsc,
    /// 16, 32 or 64.
    pub(in crate::native) bits: u8,
}
