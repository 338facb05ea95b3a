//! All address spaces of a recording, over time: the crate's front door.
//!
//! Input: where to search, map events in order of time, build IDs by path. Output: names, code bytes, sections. Files are
//! opened when first needed; every method may be called by many threads at once. This file holds them; each module below
//! it answers one kind of question.

pub(crate) mod addresses;
mod alike;
mod code_bytes;
mod copied_code;
pub(crate) mod data_names;
pub(crate) mod disassembly;
pub(crate) mod kernel_copy;
pub(crate) mod kernel_names;
pub(crate) mod mark_tables;
pub(crate) mod names;
mod own_code;
mod source_lines;
pub(crate) mod texts;
pub(crate) mod used_files;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{BuildId, Diagnostic, MapEvent, Mapping, Pid, Tsc};

use crate::code_copies::placed::Placed;
use crate::elf::CodeFile;
use crate::epochs::Epochs;
use crate::image::{Image, ImageKind};
use crate::jit_code::{self, Monotonic};
use crate::kernel::Kernel;
use crate::perf_map::{self, PerfMap};
use crate::pokes::Pokes;
use crate::recorded_kernel::RecordedKernel;
use crate::search::SearchPath;
use crate::symbol_table::SymbolTable;
use crate::timeline::{KERNEL_HALF, MappingIndex, Timelines};

/// All address spaces over time.
#[derive(Debug)]
pub struct ProcessImages {
    search: SearchPath,
    timelines: Timelines,
    pokes: Pokes,
    images: Vec<Image>,
    /// By mapping: which image it maps.
    image_of: Vec<u32>,
    /// Names of JIT code, by process.
    perf_maps: Vec<(Pid, PerfMap)>,
    /// What there is to say about where they lie.
    perf_map_notes: Vec<Diagnostic>,
    kernel: OnceLock<Kernel>,
    /// Whether kernel code was requested and not there.
    kernel_missed: AtomicBool,
    kernel_build_id: Option<BuildId>,
    epochs: Epochs,
    /// Code that lay in no file.
    code_copies: Placed,
    /// What there is to say about the jitdumps.
    jit_code: jit_code::Read,
}

/// A piece of user memory: part of a mapping that nothing newer hides.
#[derive(Clone, Copy, Debug)]
struct UserPiece<'a> {
    /// What is left of the mapping here (AVMA).
    range: &'a Range<u64>,
    mapping: &'a Mapping,
    /// The image's number.
    index: u32,
    image: &'a Image,
}

impl UserPiece<'_> {
    /// The part of the file that the whole mapping shows.
    fn mapped(&self) -> Range<u64> {
        let Range { start, end } = self.mapping.range;
        self.mapping.file_offset..self.mapping.file_offset.saturating_add(end - start)
    }

    /// By how much the stated addresses of its `file` lie elsewhere in memory: all segments are moved by the same distance (System V ABI,
    /// chapter 5, "Base Address").
    fn moved_by(&self, file: &CodeFile) -> Option<u64> {
        let mapped = self.mapped();
        Some(self.mapping.range.start.wrapping_sub(file.svma(mapped.start, &mapped)?))
    }

    /// Position in the file of the byte at `address`, which lies in the piece.
    fn file_offset(&self, address: u64) -> u64 {
        self.mapping.file_offset.wrapping_add(address.wrapping_sub(self.mapping.range.start))
    }
}

impl ProcessImages {
    /// Replays `events`, which are in order of time (what perf synthesised at the start stands at zero). `build_ids` are
    /// the recorded identities by path, for mappings that do not carry their own. Opens no file but jitdumps, which list
    /// further mappings.
    pub fn new(
        search: SearchPath,
        events: Vec<(Tsc, MapEvent)>,
        build_ids: Vec<(String, BuildId)>,
    ) -> ProcessImages {
        ProcessImages::with_clock(search, events, build_ids, Err("nothing relates this clock to the TSC"))
    }

    /// As [`ProcessImages::new`]; `monotonic` relates the times of jitdumps that are not the TSC's, or says why nothing does.
    pub fn with_clock(
        search: SearchPath,
        mut events: Vec<(Tsc, MapEvent)>,
        build_ids: Vec<(String, BuildId)>,
        monotonic: Result<Monotonic<'_>, &str>,
    ) -> ProcessImages {
        let jit_code = jit_code::add(&mut events, &search, monotonic);
        let pokes = Pokes::new(&events);
        let code_copies = Placed::open(search.code_copies.as_deref(), search.recorded_since, &events);
        let timelines = Timelines::new(events);
        let build_ids = of_one_file(build_ids);
        let (images, image_of) = images_of(&timelines.mappings, &build_ids);
        let (perf_maps, perf_map_notes) = perf_map::of_processes(&timelines, &jit_code.inner, &search);
        ProcessImages {
            perf_maps,
            perf_map_notes,
            kernel_missed: AtomicBool::new(false),
            kernel_build_id: kernel_build_id(&timelines.mappings, &build_ids),
            search,
            pokes,
            timelines,
            images,
            image_of,
            kernel: OnceLock::new(),
            epochs: Epochs::default(),
            code_copies,
            jit_code,
        }
    }

    /// What is wrong with the files that were needed so far, once each, with what it means and what to do.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = self.images.iter().flat_map(Image::diagnostics).collect();
        found.extend(self.jit_code.notes.iter().cloned());
        found.extend(self.code_copies.notes.iter().cloned());
        found.extend(self.perf_map_notes.iter().cloned());
        found.extend(self.unidentified());
        if self.kernel_missed.load(Ordering::Relaxed) {
            found.push(self.kernel().missing(self.kernel_build_id.as_ref()));
        }
        found.extend(self.kernel.get().into_iter().flat_map(|kernel| kernel.diagnostics.iter().cloned()));
        found
    }

    /// Whether a jitdump is here whose times are of `CLOCK_MONOTONIC`.
    pub fn has_monotonic_dump(&self) -> bool {
        self.jit_code.is_monotonic
    }

    /// One note on all files that are taken on trust.
    fn unidentified(&self) -> Option<Diagnostic> {
        let names: Vec<&str> =
            self.images.iter().filter(|image| image.is_unidentified()).map(|image| &*image.name).collect();
        let (first, count) = (names.first()?, names.len());
        let others = if count == 1 { String::new() } else { format!(" and {} more", count - 1) };
        Some(Diagnostic::note(format!(
            "no build ID recorded for {first}{others}: if a file here is not the recorded one, its flow breaks off \
             (perf record --buildid-mmap)"
        )))
    }

    /// The kernel, opened when first needed.
    fn kernel(&self) -> &Kernel {
        self.kernel.get_or_init(|| {
            let mappings = &self.timelines.mappings;
            let mappings: Vec<&Mapping> =
                mappings.iter().filter(|mapping| mapping.pid == Pid::KERNEL).collect();
            let build_id = self.kernel_build_id.as_ref();
            Kernel::open(&self.search, RecordedKernel { mappings: &mappings, build_id })
        })
    }

    /// The piece of `pid`'s memory at `address`, below the kernel's half.
    fn user_piece(&self, pid: Pid, address: u64, at: Tsc) -> Option<UserPiece<'_>> {
        let (range, &mapping) = self.timelines.process(pid).at(at).pieces.get(address)?;
        self.piece_of(range, mapping)
    }

    /// The names that `pid` wrote for its JIT code, and the number of that table.
    fn perf_map(&self, pid: Pid) -> Option<(u32, &SymbolTable)> {
        let place = self.perf_maps.binary_search_by_key(&pid, |(pid, _)| *pid).ok()?;
        let number = u32::try_from(self.images.len() + place).ok()?;
        Some((number, self.perf_map_number(number)?))
    }

    /// The table with a number that [`Self::perf_map`] gave.
    fn perf_map_number(&self, number: u32) -> Option<&SymbolTable> {
        let (_, map) = self.perf_maps.get((number as usize).checked_sub(self.images.len())?)?;
        map.table()
    }

    /// Notes that kernel code was needed and not there.
    fn miss_kernel(&self) {
        self.kernel_missed.store(true, Ordering::Relaxed);
    }

    fn piece_of<'a>(&'a self, range: &'a Range<u64>, mapping: MappingIndex) -> Option<UserPiece<'a>> {
        let index = *self.image_of.get(mapping as usize)?;
        let mapping = self.timelines.mappings.get(mapping as usize)?;
        Some(UserPiece { range, mapping, index, image: self.images.get(index as usize)? })
    }
}

/// The identity of the kernel: in its mapping, or in the list under one of perf's names for it.
fn kernel_build_id(mappings: &[Mapping], build_ids: &HashMap<String, BuildId>) -> Option<BuildId> {
    let of_kernel = |name: &str| name.starts_with("[kernel.");
    let mut mapped = mappings.iter().filter(|mapping| mapping.pid == Pid::KERNEL && of_kernel(&mapping.path));
    let mapped = mapped.find_map(|mapping| mapping.build_id.clone());
    mapped.or_else(|| {
        ["[kernel.kallsyms]", "[kernel.vmlinux]"].iter().find_map(|name| build_ids.get(*name).cloned())
    })
}

/// Identities by path; none where files of two containers have one path, for who mapped which is not known then.
fn of_one_file(build_ids: Vec<(String, BuildId)>) -> HashMap<String, BuildId> {
    let mut by_path: HashMap<String, Option<BuildId>> = HashMap::new();
    for (path, build_id) in build_ids {
        match by_path.entry(path) {
            Entry::Vacant(new) => {
                new.insert(Some(build_id));
            }
            Entry::Occupied(mut known) if *known.get() != Some(build_id) => {
                known.insert(None);
            }
            Entry::Occupied(_) => {}
        }
    }
    by_path.into_iter().filter_map(|(path, build_id)| Some((path, build_id?))).collect()
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
        if let Some(image) = images.get_mut(index as usize) {
            image.note_inode(mapping.inode);
        }
        image_of.push(index);
    }
    (images, image_of)
}
