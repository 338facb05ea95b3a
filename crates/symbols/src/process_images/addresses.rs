//! Names to addresses: where a function begins in a process, or in any.
//!
//! Input: a name, mangled or not. Output: addresses (AVMA), ordered, each once. A function can begin at several: static
//! functions of one name, a library mapped twice, the same program in several processes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use model::{BuildId, Pid, Tsc};

use super::{ProcessImages, UserPiece};
use crate::image::ImageKind;
use crate::timeline::MappingIndex;

/// Stated addresses of the functions of one name, by image.
type Stated = HashMap<u32, Vec<u64>>;

/// Where a function begins in its file, wherever that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InFile {
    /// The file as the recording names it.
    pub file: Arc<str>,
    /// The file's build ID: the recorded one, else its own.
    pub build_id: Option<BuildId>,
    /// Stated address (SVMA).
    pub svma: u64,
}

impl ProcessImages {
    /// The functions called `name` in programs and libraries of which code was said to run so far, as for [`Self::used_files`].
    pub fn in_used_files(&self, name: &str) -> Vec<InFile> {
        let is_file = |kind| matches!(kind, ImageKind::File | ImageKind::Vdso);
        let mut found = Vec::new();
        for image in self.images.iter().filter(|image| image.has_run() && is_file(image.kind)) {
            let starts = image.symbols(&self.search).into_iter().flat_map(|symbols| symbols.starts_of(name));
            let own = || image.code(&self.search).and_then(|file| file.build_id.clone());
            found.extend(starts.map(|svma| InFile {
                file: Arc::clone(&image.name),
                build_id: image.build_id().cloned().or_else(own),
                svma,
            }));
        }
        found
    }

    /// Where functions called `name` (mangled or not) begin in `pid`'s address space at `at`, kernel included.
    pub fn addresses_of(&self, pid: Pid, name: &str, at: Tsc) -> Vec<u64> {
        let mut stated = Stated::new();
        let mut addresses = self.kernel().addresses_of(name);
        for (range, &mapping) in self.timelines.process(pid).at(at).pieces.iter() {
            addresses.extend(self.starts_in(range, mapping, name, &mut stated));
        }
        if let Some((_, names)) = self.perf_map(pid) {
            addresses.extend(names.starts_of(name));
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Where functions called `name` begin in any process at any time; the kernel's under [`Pid::KERNEL`].
    pub fn addresses_of_any(&self, name: &str) -> Vec<(Pid, u64)> {
        let mut stated = Stated::new();
        let mut candidates = Vec::new();
        for (mapping, number) in self.timelines.mappings.iter().zip(0u32..) {
            let starts = self.starts_in(&mapping.range, number, name, &mut stated);
            candidates.extend(starts.into_iter().map(|address| (number, address)));
        }
        let kernel = self.kernel().addresses_of(name).into_iter().map(|address| (Pid::KERNEL, address));
        let mut found: Vec<(Pid, u64)> = kernel.collect();
        for pid in self.timelines.pids() {
            let held = candidates.iter().filter(|&&(mapping, address)| self.ever_held(pid, mapping, address));
            found.extend(held.map(|&(_, address)| (pid, address)));
            let made = self.perf_map(pid).into_iter().flat_map(|(_, names)| names.starts_of(name));
            found.extend(made.map(|address| (pid, address)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether `address` of `pid` was ever covered by that mapping, its own or an inherited one.
    pub(super) fn ever_held(&self, pid: Pid, mapping: MappingIndex, address: u64) -> bool {
        let covers = |(_, &here): (_, &MappingIndex)| here == mapping;
        self.timelines.process(pid).versions().any(|pieces| pieces.get(address).is_some_and(covers))
    }

    /// Where functions called `name` begin in the part `range` of a mapping.
    fn starts_in(
        &self,
        range: &Range<u64>,
        mapping: MappingIndex,
        name: &str,
        stated: &mut Stated,
    ) -> Vec<u64> {
        let Some(piece) = self.piece_of(range, mapping) else { return Vec::new() };
        let starts = stated.entry(piece.index).or_insert_with(|| {
            let symbols = piece.image.symbols(&self.search);
            symbols.map_or_else(Vec::new, |symbols| symbols.starts_of(name).collect())
        });
        starts.iter().filter_map(|&start| self.shown_at(piece, start)).collect()
    }

    /// Where in the piece the byte at a stated address shows.
    fn shown_at(&self, piece: UserPiece<'_>, svma: u64) -> Option<u64> {
        let file_offset = piece.image.code(&self.search)?.file_offset(svma, &piece.mapped())?;
        let address =
            piece.mapping.range.start.checked_add(file_offset.checked_sub(piece.mapping.file_offset)?)?;
        piece.range.contains(&address).then_some(address)
    }
}
