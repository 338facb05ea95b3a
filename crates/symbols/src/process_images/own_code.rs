//! Which functions are the program's own, by where their source lies: [`ProcessImages`]' question to [`crate::sources`].
//!
//! Input: a function that a process ran. Output: whether it is no part of the program: it has no debug information where the program
//! has, or that of another package. Nothing is concluded where no line covers `main`: then the program itself may have none.

use std::sync::Arc;

use model::{Pid, Tsc};

use super::names::Function;
use super::{ProcessImages, UserPiece};
use crate::image::ImageKind;
use crate::sources::package;
use crate::symbol_table::SymbolTable;

impl ProcessImages {
    /// Whether the source of `function` shows that it is no part of the program that `pid` ran at `at`: it has none while the program has, or it
    /// lies in another package's folder.
    pub fn is_of_library(&self, pid: Pid, function: &Function<'_>, at: Tsc) -> bool {
        let (image, symbol) = function.id.parts();
        let Some(image) = self.images.get(image as usize).filter(|image| image.kind == ImageKind::File)
        else {
            return false;
        };
        let judge = || {
            let piece = self.user_piece(pid, function.start, at);
            piece.is_some_and(|piece| self.is_foreign(piece, function, at))
        };
        image.sources.is_foreign(symbol, || image.symbols(&self.search).map_or(0, SymbolTable::count), judge)
    }

    fn is_foreign(&self, piece: UserPiece<'_>, function: &Function<'_>, at: Tsc) -> bool {
        let own_main = piece.image.main_source(&self.search);
        let Some(main) = own_main.or_else(|| self.main_source(piece.mapping.pid, at)) else { return false };
        let offset = piece.file_offset(function.start);
        let code = piece.image.code(&self.search);
        let svma = code.and_then(|code| code.svma(offset, &piece.mapped()));
        match svma.and_then(|svma| piece.image.source_at(&self.search, svma)) {
            Some(source) => package(&source).is_some_and(|found| package(main) != Some(found)),
            // A shared object with some lines may be compiled so in part.
            None => own_main.is_some() || piece.image.lines(&self.search).is_none(),
        }
    }

    /// The source file of where the program in `pid` begins.
    fn main_source(&self, pid: Pid, at: Tsc) -> Option<&Arc<str>> {
        let pieces = self.timelines.process(pid).at(at).pieces;
        let mut images =
            pieces.iter().filter_map(|(range, &mapping)| Some(self.piece_of(range, mapping)?.image));
        images.find_map(|image| image.main_source(&self.search))
    }
}
