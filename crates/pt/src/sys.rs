//! The thin safe layer over libipt: a block decoder, images and one section cache. The only `unsafe` of the crate.
//!
//! Invariants that make it sound: a [`BlockDecoder`] borrows its bytes and, exclusively, the [`ImageStore`] it reads
//! code from; an image's read callback points into the decoder that set it and is cleared before that decoder goes;
//! libipt copies the configuration and writes through `begin`/`end` nowhere.
#![allow(unsafe_code, reason = "calls into libipt, a C library")]

mod event;

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null, null_mut};

use libipt_sys as ipt;
use model::{CodeBytes, CodeEpoch, CodeSection, Pid, Tsc};

use crate::config::{Limits, PtConfig};
use crate::error::Error;

pub(crate) use event::{RawEvent, What};

/// Most images kept: processes that map code all the time have an epoch for each mapping.
const IMAGES: usize = 512;

/// An error of libipt, as a positive `pt_error_code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) u32);

impl Fault {
    pub(crate) const EOS: Fault = Fault(ipt::pt_error_code_pte_eos);
    pub(crate) const NOMAP: Fault = Fault(ipt::pt_error_code_pte_nomap);
    pub(crate) const BAD_OPCODE: Fault = Fault(ipt::pt_error_code_pte_bad_opc);
    pub(crate) const BAD_PACKET: Fault = Fault(ipt::pt_error_code_pte_bad_packet);

    /// libipt's own words.
    pub(crate) fn message(self) -> String {
        // SAFETY: `pt_errstr` returns a static string, or NULL for an unknown code.
        let text = unsafe { ipt::pt_errstr(self.0) };
        if text.is_null() {
            return format!("libipt error {}", self.0);
        }
        // SAFETY: not NULL, so a static NUL-terminated string.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// What libipt says after each step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status(u32);

impl Status {
    /// Whether [`BlockDecoder::event`] must be called before the next block.
    pub(crate) fn event_pending(self) -> bool {
        self.0 & ipt::pt_status_flag_pts_event_pending != 0
    }

    /// Whether all trace was read: what follows is code that runs without needing any.
    pub(crate) fn at_end(self) -> bool {
        self.0 & ipt::pt_status_flag_pts_eos != 0
    }
}

fn status(code: c_int) -> Result<Status, Fault> {
    u32::try_from(code).map(Status).map_err(|_| Fault(code.unsigned_abs()))
}

/// The code images of one worker thread, by epoch, over one section cache.
pub(crate) struct ImageStore {
    cache: NonNull<ipt::pt_image_section_cache>,
    images: HashMap<u64, NonNull<ipt::pt_image>>,
}

// SAFETY: libipt's objects have no thread affinity, and the store is their only owner.
unsafe impl Send for ImageStore {}

impl ImageStore {
    pub(crate) fn new(limits: &Limits) -> Result<ImageStore, Error> {
        // SAFETY: a NULL name is allowed.
        let cache = NonNull::new(unsafe { ipt::pt_iscache_alloc(null()) })
            .ok_or(Error::OutOfMemory { what: "section cache" })?;
        // SAFETY: `cache` is valid; a failure only means less caching.
        unsafe { ipt::pt_iscache_set_limit(cache.as_ptr(), limits.section_bytes) };
        Ok(ImageStore { cache, images: HashMap::new() })
    }

    /// The image of an epoch, made when first requested.
    fn image(&mut self, epoch: &CodeEpoch) -> Result<NonNull<ipt::pt_image>, Error> {
        if let Some(&image) = self.images.get(&epoch.id) {
            return Ok(image);
        }
        if self.images.len() >= IMAGES {
            self.free_images();
        }
        // SAFETY: a NULL name is allowed.
        let image = NonNull::new(unsafe { ipt::pt_image_alloc(null()) })
            .ok_or(Error::OutOfMemory { what: "code image" })?;
        self.images.insert(epoch.id, image);
        for section in epoch.sections.iter() {
            self.add(image, section);
        }
        Ok(image)
    }

    /// Adds one section. Where libipt refuses it (file gone, section beyond its end) its bytes come through the
    /// read callback instead.
    fn add(&mut self, image: NonNull<ipt::pt_image>, section: &CodeSection) {
        let Ok(name) = CString::new(section.file.as_os_str().as_bytes()) else { return };
        let size = section.range.end.saturating_sub(section.range.start);
        // SAFETY: the cache is valid, and `name` lives through the call, which copies it.
        let id = unsafe {
            ipt::pt_iscache_add_file(
                self.cache.as_ptr(),
                name.as_ptr(),
                section.file_offset,
                size,
                section.range.start,
            )
        };
        if id > 0 {
            // SAFETY: image and cache are valid; a NULL address space stands for all.
            unsafe { ipt::pt_image_add_cached(image.as_ptr(), self.cache.as_ptr(), id, null()) };
        }
    }
}

impl ImageStore {
    fn free_images(&mut self) {
        for (_, image) in self.images.drain() {
            // SAFETY: allocated by us, freed once; no decoder uses it: each borrows the store, and gives its image
            // back before it asks for another.
            unsafe { ipt::pt_image_free(image.as_ptr()) };
        }
    }
}

impl Drop for ImageStore {
    fn drop(&mut self) {
        self.free_images();
        // SAFETY: allocated by us, freed once, after the images that refer to its sections.
        unsafe { ipt::pt_iscache_free(self.cache.as_ptr()) };
    }
}

/// Whom the read callback serves.
struct ReadContext<'t> {
    code: &'t dyn CodeBytes,
    pid: Cell<Pid>,
    at: Cell<Tsc>,
}

/// libipt's block decoder over one buffer.
pub(crate) struct BlockDecoder<'t> {
    raw: NonNull<ipt::pt_block_decoder>,
    images: &'t mut ImageStore,
    /// The image in use and its epoch.
    image: Option<(u64, NonNull<ipt::pt_image>)>,
    context: Box<ReadContext<'t>>,
    /// The piece after the block that was given last.
    ahead: Option<Ahead>,
    bytes: PhantomData<&'t [u8]>,
}

/// A piece that turned out to be none of the block before it, with what libipt said, and where it stood before.
struct Ahead {
    piece: ipt::pt_block,
    said: Result<Status, Fault>,
    offset: usize,
}

impl<'t> BlockDecoder<'t> {
    pub(crate) fn new(
        config: &PtConfig,
        bytes: &'t [u8],
        images: &'t mut ImageStore,
        code: &'t dyn CodeBytes,
    ) -> Result<BlockDecoder<'t>, Error> {
        let raw_config = raw_config(config, bytes, |flags| {
            // SAFETY: all variants are plain bit fields over the same zeroed words.
            let block = unsafe { &mut flags.variant.block };
            block.set_end_on_call(1);
            block.set_end_on_jump(1);
            block.set_enable_tick_events(1);
        });
        // SAFETY: the configuration is complete and describes `bytes`, which outlive the decoder.
        let raw = NonNull::new(unsafe { ipt::pt_blk_alloc_decoder(&raw const raw_config) })
            .ok_or(Error::OutOfMemory { what: "block decoder" })?;
        let context = Box::new(ReadContext { code, pid: Cell::new(Pid::KERNEL), at: Cell::new(Tsc(0)) });
        Ok(BlockDecoder { raw, images, image: None, context, ahead: None, bytes: PhantomData })
    }

    /// Starts at the PSB at `offset`.
    pub(crate) fn sync(&mut self, offset: usize) -> Result<Status, Fault> {
        // SAFETY: the decoder is valid; libipt checks the offset.
        status(unsafe { ipt::pt_blk_sync_set(self.raw.as_ptr(), offset as u64) })
    }

    /// Reads code of `pid` as it is in `epoch` from now on.
    pub(crate) fn select(&mut self, pid: Pid, epoch: &CodeEpoch) -> Result<(), Error> {
        self.context.pid.set(pid);
        if self.image.is_some_and(|(id, _)| id == epoch.id) {
            return Ok(());
        }
        self.give_back();
        let image = self.images.image(epoch)?;
        let context: *const ReadContext<'t> = &raw const *self.context;
        // SAFETY: image and decoder are valid; the boxed context stays in place until `give_back`.
        unsafe {
            ipt::pt_image_set_callback(image.as_ptr(), Some(read_code), context.cast_mut().cast::<c_void>());
            ipt::pt_blk_set_image(self.raw.as_ptr(), image.as_ptr());
        }
        self.image = Some((epoch.id, image));
        Ok(())
    }

    /// From now on code is read as it was at this time.
    pub(crate) fn set_time(&mut self, at: Tsc) {
        self.context.at.set(at);
    }

    /// The next block; `last` is what libipt said after its last complete piece. On a fault the block holds what was decoded before it,
    /// possibly nothing.
    pub(crate) fn next(&mut self, block: &mut RawBlock, last: &mut Status) -> Result<(), Fault> {
        let (piece, said) = self.ahead.take().map_or_else(|| self.piece(), |ahead| (ahead.piece, ahead.said));
        *block = RawBlock { ip: piece.ip, instructions: u32::from(piece.ninsn), last: piece };
        *last = said?;
        while block.goes_on(*last) {
            let offset = self.offset();
            let (piece, said) = self.piece();
            if piece.ninsn > 0 && piece.isid != block.last.isid {
                self.ahead = Some(Ahead { piece, said, offset });
                break;
            }
            if piece.ninsn > 0 {
                block.instructions += u32::from(piece.ninsn);
                block.last = piece;
            }
            *last = said?;
            if piece.ninsn == 0 {
                break;
            }
        }
        Ok(())
    }

    /// What libipt gives as a block.
    fn piece(&mut self) -> (ipt::pt_block, Result<Status, Fault>) {
        // SAFETY: a block of zeros is valid: integers only.
        let mut piece: ipt::pt_block = unsafe { std::mem::zeroed() };
        // SAFETY: the decoder is valid, `piece` is writable and its size is given.
        let said = unsafe { ipt::pt_blk_next(self.raw.as_ptr(), &raw mut piece, size_of::<ipt::pt_block>()) };
        (piece, status(said))
    }

    /// The pending event.
    pub(crate) fn event(&mut self, event: &mut RawEvent) -> Result<Status, Fault> {
        // SAFETY: as in `next`.
        status(unsafe { ipt::pt_blk_event(self.raw.as_ptr(), &raw mut event.0, size_of::<ipt::pt_event>()) })
    }

    /// The offset of the packet that decides what comes next.
    pub(crate) fn offset(&self) -> usize {
        if let Some(ahead) = &self.ahead {
            return ahead.offset;
        }
        let mut offset = 0;
        // SAFETY: the decoder is valid; where it is out of sync `offset` stays as it is.
        unsafe { ipt::pt_blk_get_offset(self.raw.as_ptr(), &raw mut offset) };
        usize::try_from(offset).unwrap_or(usize::MAX)
    }

    /// Stops using the image.
    fn give_back(&mut self) {
        if let Some((_, image)) = self.image.take() {
            // SAFETY: the store frees no image that is in use; without one libipt uses the decoder's own.
            unsafe {
                ipt::pt_image_set_callback(image.as_ptr(), None, null_mut());
                ipt::pt_blk_set_image(self.raw.as_ptr(), null_mut());
            }
        }
    }
}

impl Drop for BlockDecoder<'_> {
    fn drop(&mut self) {
        self.give_back();
        // SAFETY: allocated by us, freed once.
        unsafe { ipt::pt_blk_free_decoder(self.raw.as_ptr()) };
    }
}

/// Most instructions of a block: a file of code without a branch is given in several.
const MOST_INSTRUCTIONS: u32 = 1 << 16;

/// A block, for [`BlockDecoder::next`] to fill.
///
/// libipt ends one where its block cache knows the next instruction but not the one at hand, so that what else was decoded before would
/// show in the blocks: such pieces are one block here, as far as they lie in one section.
pub(crate) struct RawBlock {
    pub(crate) ip: u64,
    pub(crate) instructions: u32,
    last: ipt::pt_block,
}

impl RawBlock {
    pub(crate) fn empty() -> RawBlock {
        // SAFETY: a block of zeros is valid: integers only.
        RawBlock { ip: 0, instructions: 0, last: unsafe { std::mem::zeroed() } }
    }

    /// The address of the last instruction.
    pub(crate) fn end_ip(&self) -> u64 {
        self.last.end_ip
    }

    /// The class of the last instruction.
    pub(crate) fn class(&self) -> ipt::pt_insn_class {
        self.last.iclass
    }

    pub(crate) fn mode(&self) -> ipt::pt_exec_mode {
        self.last.mode
    }

    /// Whether it may be that nothing but libipt's cache ended it: no branch, no event, no instruction in two sections.
    fn goes_on(&self, status: Status) -> bool {
        self.last.iclass == ipt::pt_insn_class_ptic_other
            && self.last.truncated() == 0
            && (1..MOST_INSTRUCTIONS).contains(&self.instructions)
            && !status.event_pending()
    }
}

unsafe extern "C" fn read_code(
    buffer: *mut u8,
    size: usize,
    _space: *const ipt::pt_asid,
    ip: u64,
    context: *mut c_void,
) -> c_int {
    const NO_MAP: c_int = -(ipt::pt_error_code_pte_nomap.cast_signed());
    // SAFETY: `context` is what `select` set: the live decoder's context. libipt calls only while it runs.
    let context = unsafe { &*context.cast::<ReadContext<'_>>() };
    // SAFETY: libipt passes a buffer of `size` bytes on its stack, initialised or not; we hand out zeroed bytes.
    let into = unsafe {
        buffer.write_bytes(0, size);
        std::slice::from_raw_parts_mut(buffer, size)
    };
    // A panic must not unwind into C.
    let read =
        catch_unwind(AssertUnwindSafe(|| context.code.read(context.pid.get(), ip, context.at.get(), into)));
    match read {
        Ok(count) if count > 0 => c_int::try_from(count.min(size)).unwrap_or(NO_MAP),
        _ => NO_MAP,
    }
}

fn raw_config(
    config: &PtConfig,
    bytes: &[u8],
    set_flags: impl FnOnce(&mut ipt::pt_conf_flags),
) -> ipt::pt_config {
    // SAFETY: `pt_config_init` (an inline function of the header) does the same: zero all, set the size.
    let mut raw: ipt::pt_config = unsafe { std::mem::zeroed() };
    raw.size = size_of::<ipt::pt_config>();
    let range = bytes.as_ptr_range();
    (raw.begin, raw.end) = (range.start.cast_mut(), range.end.cast_mut());
    raw.mtc_freq = config.mtc_freq;
    raw.nom_freq = config.nom_freq;
    if let Some((n, d)) = config.tsc_ctc_ratio {
        (raw.cpuid_0x15_ebx, raw.cpuid_0x15_eax) = (n, d);
    }
    if let Some(cpu) = config.cpu {
        raw.cpu.vendor = ipt::pt_cpu_vendor_pcv_intel;
        (raw.cpu.family, raw.cpu.model, raw.cpu.stepping) = (cpu.family, cpu.model, cpu.stepping);
        // SAFETY: both point to valid structures. An unknown CPU leaves the errata off.
        unsafe { ipt::pt_cpu_errata(&raw mut raw.errata, &raw const raw.cpu) };
    }
    set_flags(&mut raw.flags);
    raw
}
