//! Addresses in processes to source lines: [`Lines`](crate::lines::Lines) for [`ProcessImages`].

use model::{Pid, Tsc};

use super::ProcessImages;
use crate::demangle::v8;
use crate::frame::Frame;
use crate::image::Identity;
use crate::timeline::KERNEL_HALF;

impl ProcessImages {
    /// The source lines of `address` in `pid`'s address space at `at`, innermost function first; one frame without a
    /// line where only a symbol is known, none where nothing is.
    pub fn lines(&self, pid: Pid, address: u64, at: Tsc) -> Vec<Frame> {
        let mut frames = self.recorded_lines(pid, address, at).unwrap_or_default();
        let function = self.function_at(pid, address, at);
        let symbol = function.as_ref().map(|function| function.name.to_string());
        if frames.is_empty() {
            let raw = function.as_ref().map_or("", |function| self.raw_name(function.id));
            // V8 says in the name of a function where that begins.
            let place = v8::parts(raw).map(|(_, place)| place);
            frames.extend(symbol.map(|function| Frame {
                function,
                file: place.map(|place| place.file.to_owned()),
                line: place.map(|place| place.line),
                column: place.and_then(|place| place.column),
                inlined: false,
            }));
            return frames;
        }
        // A line table without functions (assembly): the symbol names the outermost frame.
        if let Some(outermost) = frames.last_mut().filter(|frame| frame.function.is_empty()) {
            outermost.function = symbol.unwrap_or_default();
        }
        for frame in frames.iter_mut().filter(|frame| frame.function.is_empty()) {
            "[unknown]".clone_into(&mut frame.function);
        }
        frames
    }

    /// Whether debug information of the kernel is here.
    pub fn has_kernel_lines(&self) -> bool {
        self.kernel().lines().is_some()
    }

    /// Whether the file whose debug information [`ProcessImages::lines`] gives for `address` is known to be the recorded one:
    /// by its build ID, or because it lies beneath `--symfs`. A kernel's file always is, for it is not taken otherwise.
    pub fn has_verified_lines(&self, pid: Pid, address: u64, at: Tsc) -> bool {
        if address >= KERNEL_HALF {
            return true;
        }
        let Some(piece) = self.user_piece(pid, address, at) else { return false };
        let identity = piece.image.code(&self.search).map(|file| piece.image.identity(file, &self.search));
        matches!(identity, Some(Identity::BuildId | Identity::Given))
    }

    fn recorded_lines(&self, pid: Pid, address: u64, at: Tsc) -> Option<Vec<Frame>> {
        if address >= KERNEL_HALF {
            let (lines, slide) = self.kernel().lines()?;
            return Some(lines.at(address.wrapping_sub(slide)));
        }
        let piece = self.user_piece(pid, address, at)?;
        let svma = piece.image.code(&self.search)?.svma(piece.file_offset(address), &piece.mapped())?;
        Some(piece.image.frames_at(&self.search, svma))
    }
}
