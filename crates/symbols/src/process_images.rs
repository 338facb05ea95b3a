//! All address spaces of a recording, over time: the crate's front door.
//!
//! Input: where to search, map events in order of time, build IDs by path. Output: names, code bytes, sections. Files are
//! opened when first needed; every answer may be asked for by many threads at once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use model::{BuildId, Diagnostic, MapEvent, Mapping, Pid, Tsc};

use crate::epochs::Epochs;
use crate::image::{Image, ImageKind};
use crate::kernel::Kernel;
use crate::pokes::Pokes;
use crate::search::SearchPath;
use crate::timeline::{KERNEL_HALF, MappingIndex, Timelines};

/// All address spaces over time.
#[derive(Debug)]
pub struct ProcessImages {
    pub(crate) search: SearchPath,
    pub(crate) timelines: Timelines,
    pub(crate) pokes: Pokes,
    pub(crate) images: Vec<Image>,
    /// By mapping: which image it maps.
    image_of: Vec<u32>,
    kernel: OnceLock<Kernel>,
    pub(crate) epochs: Epochs,
}

/// A piece of user memory: part of a mapping that nothing newer hides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserPiece<'a> {
    /// What is left of the mapping here (AVMA).
    pub(crate) range: &'a Range<u64>,
    pub(crate) mapping: &'a Mapping,
    /// The image's number.
    pub(crate) index: u32,
    pub(crate) image: &'a Image,
}

impl UserPiece<'_> {
    /// Position in the file of the byte at `address`, which lies in the piece.
    pub(crate) fn file_offset(&self, address: u64) -> u64 {
        self.mapping.file_offset.wrapping_add(address.wrapping_sub(self.mapping.range.start))
    }
}

impl ProcessImages {
    /// Replays `events`, which are in order of time (what perf synthesised at the start stands at zero). `build_ids` are
    /// the recorded identities by path, for mappings that do not carry their own. Opens no file.
    pub fn new(
        search: SearchPath,
        events: &[(Tsc, MapEvent)],
        build_ids: impl IntoIterator<Item = (String, BuildId)>,
    ) -> ProcessImages {
        let timelines = Timelines::new(events);
        let (images, image_of) = images_of(&timelines.mappings, &build_ids.into_iter().collect());
        ProcessImages {
            search,
            pokes: Pokes::new(events),
            timelines,
            images,
            image_of,
            kernel: OnceLock::new(),
            epochs: Epochs::default(),
        }
    }

    /// What is wrong with the files that were needed so far, once each, with what it means and what to do.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = self.images.iter().flat_map(Image::diagnostics).collect();
        found.extend(self.kernel.get().into_iter().flat_map(|kernel| kernel.diagnostics.iter().cloned()));
        found
    }

    /// The kernel, opened when first asked for.
    pub(crate) fn kernel(&self) -> &Kernel {
        self.kernel.get_or_init(|| {
            let text =
                self.timelines.mappings.iter().find(|mapping| {
                    mapping.pid == Pid::KERNEL && mapping.path.starts_with("[kernel.kallsyms]")
                });
            Kernel::open(&self.search, text)
        })
    }

    /// The piece of `pid`'s memory at `address`, below the kernel's half.
    pub(crate) fn user_piece(&self, pid: Pid, address: u64, at: Tsc) -> Option<UserPiece<'_>> {
        let (range, &mapping) = self.timelines.process(pid).at(at).pieces.get(address)?;
        self.piece_of(range, mapping)
    }

    pub(crate) fn piece_of<'a>(
        &'a self,
        range: &'a Range<u64>,
        mapping: MappingIndex,
    ) -> Option<UserPiece<'a>> {
        let index = *self.image_of.get(mapping as usize)?;
        let mapping = self.timelines.mappings.get(mapping as usize)?;
        Some(UserPiece { range, mapping, index, image: self.images.get(index as usize)? })
    }
}

/// One image per recorded name and build ID.
fn images_of(mappings: &[Mapping], build_ids: &HashMap<String, BuildId>) -> (Vec<Image>, Vec<u32>) {
    let mut images = Vec::new();
    let mut known: HashMap<(&str, Option<&BuildId>, ImageKind), u32> = HashMap::new();
    let mut image_of = Vec::with_capacity(mappings.len());
    for mapping in mappings {
        let build_id = mapping.build_id.as_ref().or_else(|| build_ids.get(&mapping.path));
        let kind = ImageKind::of(&mapping.path, mapping.range.start >= KERNEL_HALF);
        let next = u32::try_from(images.len()).unwrap_or(u32::MAX);
        let index = *known.entry((mapping.path.as_str(), build_id, kind)).or_insert_with(|| {
            images.push(Image::new(&mapping.path, kind, build_id.cloned()));
            next
        });
        image_of.push(index);
    }
    (images, image_of)
}
