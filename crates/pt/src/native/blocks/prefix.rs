//! The front of a block, up to an instruction to which a packet binds.

use super::block::{Block, Exit, NONE};
use super::mark::{Kind, Mark};
use crate::flow::BlockEnd;

/// What is looked for in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Wanted {
    /// The instruction at this address, without it.
    Before(u64),
    /// The instruction at this address, and it.
    With(u64),
    /// The next PTWRITE, and it.
    Ptwrite,
    /// The next instruction that can change the page table (MOV CR3, a far transfer, VM entry), and it.
    Paging,
    /// The next MOV CR3, and it.
    Cr3,
    /// The next IRET, SYSRET, SYSEXIT, ERETU or ERETS, and it.
    Iret,
    /// The next VMLAUNCH or VMRESUME, and it.
    VmEntry,
    /// The next UIRET, and it.
    UserIret,
    /// The next other far transfer (SYSCALL, SYSENTER), and it.
    FarCall,
}

impl Wanted {
    /// Whether it is the instruction at `here`, of this kind.
    fn matches(self, here: u64, kind: Kind) -> bool {
        match self {
            Wanted::Before(ip) | Wanted::With(ip) => here == ip,
            Wanted::Ptwrite => kind == Kind::Ptwrite,
            Wanted::Cr3 => kind == Kind::PageTable,
            Wanted::Paging => !matches!(kind, Kind::Plain | Kind::Ptwrite),
            Wanted::Iret => kind == Kind::Iret,
            Wanted::VmEntry => kind == Kind::VmEntry,
            Wanted::UserIret => kind == Kind::UserIret,
            Wanted::FarCall => kind == Kind::Far,
        }
    }

    /// Whether `block` may hold it.
    pub(in crate::native) fn may_be_in(self, block: &Block) -> bool {
        match self {
            Wanted::Before(ip) | Wanted::With(ip) => (block.ip..=block.end_ip).contains(&ip),
            Wanted::Ptwrite | Wanted::Cr3 => block.holds_bound,
            Wanted::Paging => block.holds_bound || block.exit == Exit::Far,
            Wanted::Iret | Wanted::VmEntry | Wanted::UserIret | Wanted::FarCall => block.exit == Exit::Far,
        }
    }
}

/// The front of a block, up to what was looked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Prefix {
    /// The part as a block of its own.
    pub(in crate::native) block: Block,
    last: Kind,
}

impl Prefix {
    /// Whether its last instruction is what is looked for.
    pub(in crate::native) fn ends_with(&self, wanted: Wanted) -> bool {
        wanted.matches(self.block.end_ip, self.last)
    }
}

/// The part of `block` up to what is wanted, if it is there; `marks` are those of its instructions.
pub(super) fn prefix(block: &Block, marks: &[Mark], wanted: Wanted) -> Option<Prefix> {
    if !wanted.may_be_in(block) {
        return None;
    }
    let found = find(block.ip, marks, wanted)?;
    let holds_it = !matches!(wanted, Wanted::Before(_));
    let kept = &marks[..found + usize::from(holds_it)];
    let bytes = |marks: &[Mark]| marks.iter().map(|mark| mark.length()).sum::<u64>();
    let next = block.ip.wrapping_add(bytes(kept));
    let (last, end_ip) = match kept.last() {
        Some(last) => (last.kind(), next.wrapping_sub(last.length())),
        None => (Kind::Plain, block.ip),
    };
    let whole = holds_it && kept.len() == marks.len() && block.exit != Exit::Long;
    let (exit, end) = match last {
        _ if whole => (block.exit, block.end),
        Kind::Ptwrite => (Exit::Border, BlockEnd::Other),
        _ => (Exit::Border, BlockEnd::FallThrough),
    };
    let instructions = u16::try_from(kept.len()).unwrap_or(u16::MAX);
    // What follows the block need not follow its part.
    let (next_link, target_link) = (NONE, NONE);
    let part = Block { end_ip, next, instructions, exit, end, next_link, target_link, ..*block };
    Some(Prefix { block: part, last })
}

/// Index of the instruction that is wanted, among those from `ip` on.
fn find(ip: u64, marks: &[Mark], wanted: Wanted) -> Option<usize> {
    let mut here = ip;
    marks.iter().position(|mark| {
        let found = wanted.matches(here, mark.kind());
        here = here.wrapping_add(mark.length());
        found
    })
}
