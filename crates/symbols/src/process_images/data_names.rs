//! Addresses of data to names: the lock, the ring, the counter that a program has as a variable.
//!
//! perf records mappings of code alone; where a file's code lies says where its variables lie ([`UserPiece::moved_by`]).

use std::sync::Arc;

use model::{Pid, Tsc};

use super::{ProcessImages, UserPiece};

/// A variable around an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name, demangled.
    pub name: Arc<str>,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes from its start to the address.
    pub offset: u64,
}

impl ProcessImages {
    /// The variable at `address` in `pid`'s address space at `at`; `None` where no symbol covers it, as in the heap and on stacks.
    pub fn variable_at(&self, pid: Pid, address: u64, at: Tsc) -> Option<Variable> {
        let pieces = self.timelines.process(pid).at(at).pieces;
        let mut pieces = pieces.iter().filter_map(|(range, &mapping)| self.piece_of(range, mapping));
        pieces.find_map(|piece| self.variable_of(piece, address))
    }

    /// The variable of the piece's file.
    fn variable_of(&self, piece: UserPiece<'_>, address: u64) -> Option<Variable> {
        let stated = address.wrapping_sub(piece.moved_by(piece.image.code(&self.search)?)?);
        let found = piece.image.variables(&self.search)?.at(stated)?;
        let (size, offset) = (found.range.end - found.range.start, stated - found.range.start);
        Some(Variable { name: Arc::clone(found.name), size, offset })
    }
}
