//! Attributes: which events were recorded, and what each of their records holds.
//!
//! Source: `struct perf_event_attr` in `include/uapi/linux/perf_event.h`. Fields that an older kernel did not
//! write are zero.

mod by_id;

use std::ops::Range;

use model::{Diagnostic, FileOffset};

pub(crate) use self::by_id::ById;
use crate::bytes::{Fields, text, u64_at};

/// The event type of tracepoints (`PERF_TYPE_TRACEPOINT`).
pub const TYPE_TRACEPOINT: u32 = 2;

/// Bits of [`Attr::sample_type`] (`PERF_SAMPLE_*`).
pub mod sample_type {
    #![allow(missing_docs)] // Names and values are the kernel's.
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDR: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM_ID: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const BRANCH_STACK: u64 = 1 << 11;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    pub const WEIGHT: u64 = 1 << 14;
    pub const DATA_SRC: u64 = 1 << 15;
    pub const IDENTIFIER: u64 = 1 << 16;
    pub const TRANSACTION: u64 = 1 << 17;
    pub const REGS_INTR: u64 = 1 << 18;
    pub const PHYS_ADDR: u64 = 1 << 19;
    pub const AUX: u64 = 1 << 20;
    pub const CGROUP: u64 = 1 << 21;
    pub const DATA_PAGE_SIZE: u64 = 1 << 22;
    pub const CODE_PAGE_SIZE: u64 = 1 << 23;
    pub const WEIGHT_STRUCT: u64 = 1 << 24;
}

/// Bits of [`Attr::aux_action`] (`aux_start_paused`, `aux_pause`, `aux_resume`). perf's term is `aux-action=`.
pub mod aux_action {
    /// Of the trace's own event: it begins paused.
    pub const START_PAUSED: u32 = 1;
    /// A sample of this event pauses the trace.
    pub const PAUSE: u32 = 1 << 1;
    /// A sample of this event resumes the trace.
    pub const RESUME: u32 = 1 << 2;
}

/// One configured event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attr {
    /// What the user called it (`intel_pt//`, `sched:sched_switch`); `None` where the file has no event descriptions.
    pub name: Option<String>,
    /// Event type: 0 hardware, 1 software, 2 tracepoint, others by [`crate::Features::pmu_mappings`].
    pub kind: u32,
    /// What to count; for a tracepoint the ID of its format.
    pub config: u64,
    /// First extension of `config`.
    pub config1: u64,
    /// Second extension of `config`.
    pub config2: u64,
    /// Third extension of `config`; zero before Linux 6.3.
    pub config3: u64,
    /// Events per sample, or samples per second where [`Attr::freq`] is set.
    pub sample_period: u64,
    /// What a sample holds: bits of [`sample_type`].
    pub sample_type: u64,
    /// What a read holds (`PERF_FORMAT_*`).
    pub read_format: u64,
    /// The bit field after `read_format`, as the kernel lays it out.
    pub flags: u64,
    /// Which branches a branch stack holds.
    pub branch_sample_type: u64,
    /// Which user registers a sample holds.
    pub sample_regs_user: u64,
    /// Which interrupted registers a sample holds.
    pub sample_regs_intr: u64,
    /// Bytes of AUX data in each sample (`--aux-sample`).
    pub aux_sample_size: u32,
    /// What the event does to the trace of its CPU or thread (Linux 6.13): bits of [`aux_action`]. Zero in older files.
    pub aux_action: u32,
    /// The clock of `time` where [`Attr::use_clockid`] is set (`CLOCK_*`).
    pub clockid: i32,
    /// The ids by which records name this event.
    pub ids: Vec<u64>,
}

macro_rules! flag_bits {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Attr {
            $($(#[$doc])* pub fn $name(&self) -> bool { self.flags >> $bit & 1 == 1 })*
        }
    };
}

flag_bits! {
    /// Created switched off.
    disabled = 0;
    /// Children are recorded too.
    inherit = 1;
    /// User code is left out.
    exclude_user = 4;
    /// The kernel is left out.
    exclude_kernel = 5;
    /// The hypervisor is left out.
    exclude_hv = 6;
    /// `sample_period` is a frequency.
    freq = 10;
    /// All records, not samples alone, carry a trailer with time, thread and id.
    sample_id_all = 18;
    /// Guests are left out.
    exclude_guest = 20;
    /// Times are of [`Attr::clockid`], not of the perf clock.
    use_clockid = 25;
    /// Context switches are recorded.
    context_switch = 26;
    /// The ring is written from its end to its beginning (`--overwrite`): the latest record stands first in the file.
    write_backward = 27;
    /// Its samples are records of PEBS in the trace.
    aux_output = 31;
    /// Changes of the kernel's code are recorded.
    text_poke = 33;
    /// MMAP2 records hold the file's build ID instead of its device and inode.
    build_id = 34;
}

impl Attr {
    /// How exact the sampled address is: 0 any skid to 3 none.
    #[allow(clippy::cast_possible_truncation)] // Two bits.
    pub fn precise_ip(&self) -> u8 {
        (self.flags >> 15 & 3) as u8
    }

    /// Whether samples hold all of these [`sample_type`] bits.
    pub fn samples(&self, bits: u64) -> bool {
        self.sample_type & bits == bits
    }

    /// Whether it has any of these [`aux_action`] bits.
    pub fn acts_on_trace(&self, bits: u32) -> bool {
        self.aux_action & bits != 0
    }

    /// Whether it is a tracepoint, so that [`Attr::config`] names a format.
    pub fn is_tracepoint(&self) -> bool {
        self.kind == TYPE_TRACEPOINT
    }

    /// Reads a `perf_event_attr` of whatever length the file has.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Attr> {
        // The part that the first kernel had; everything after it may be missing.
        let mut fields = Fields::new(bytes.get(..48)?);
        let (kind, _size, config) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let (sample_period, sample_type) = (fields.u64()?, fields.u64()?);
        let (read_format, flags) = (fields.u64()?, fields.u64()?);
        let word = |at| u64_at(bytes, at).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // Halves of a word.
        Some(Attr {
            name: None,
            kind,
            config,
            config1: word(56),
            config2: word(64),
            config3: word(128),
            sample_period,
            sample_type,
            read_format,
            flags,
            branch_sample_type: word(72),
            sample_regs_user: word(80),
            clockid: (word(88) >> 32) as i32,
            sample_regs_intr: word(96),
            aux_sample_size: word(112) as u32,
            aux_action: (word(112) >> 32) as u32,
            ids: Vec::new(),
        })
    }
}

/// More attributes than any recording has: perf's whole list of events is shorter. A section that lies about its size
/// would turn the rest of the file, trace and all, into attributes.
pub(crate) const MOST_ATTRS: usize = 1 << 16;

/// How many attributes without their ids are described one by one.
const DESCRIBED: usize = 8;
/// Length of what follows each attribute of a file: where its ids lie.
pub(crate) const IDS_PLACE_SIZE: usize = 16;

/// Where an attribute lies, and where its ids; both inside the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttrPlace {
    pub(crate) attr: Range<usize>,
    pub(crate) ids: Range<usize>,
}

/// Reads the attributes at `places`.
pub(crate) fn parse_all(file: &[u8], places: &[AttrPlace]) -> Vec<Attr> {
    let attr = |place: &AttrPlace| {
        let ids = file[place.ids.clone()].chunks_exact(8).filter_map(|chunk| u64_at(chunk, 0)).collect();
        Some(Attr { ids, ..Attr::parse(&file[place.attr.clone()])? })
    };
    places.iter().filter_map(attr).collect()
}

/// The attribute section of a file: attributes, each with the place of its ids.
pub(crate) fn places(
    file: &[u8],
    section: &Range<usize>,
    entry_size: u64,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<AttrPlace> {
    let entry_size = usize::try_from(entry_size).unwrap_or(usize::MAX);
    let bytes = &file[section.clone()];
    if entry_size < 64 {
        if !bytes.is_empty() {
            let what = format!("attributes of {entry_size} bytes each: no record can be read by them");
            diagnostics.push(Diagnostic::error(what).at_offset(FileOffset(section.start as u64)));
        }
        return Vec::new();
    }
    if bytes.len() / entry_size > MOST_ATTRS {
        let what =
            format!("more attributes than perf can open events: those from {MOST_ATTRS} on are left out");
        diagnostics.push(Diagnostic::error(what).at_offset(FileOffset(section.start as u64)));
    }
    let entries = bytes.chunks_exact(entry_size).take(MOST_ATTRS).enumerate();
    // Attributes may all point at the same bytes; together they cannot have more ids than the file has room for.
    let mut budget = file.len();
    let mut nameless = 0_usize;
    let places = entries
        .map(|(index, entry)| {
            let at = section.start + index * entry_size;
            let attr = at..at + entry_size - IDS_PLACE_SIZE;
            let ids = ids_at(file, &entry[entry_size - IDS_PLACE_SIZE..], &mut budget).unwrap_or_else(|| {
                nameless += 1;
                if nameless <= DESCRIBED {
                    let what = format!(
                        "the ids of attribute {index} lie outside of the file: its records have no name"
                    );
                    diagnostics.push(Diagnostic::warning(what).at_offset(FileOffset(at as u64)));
                }
                0..0
            });
            AttrPlace { attr, ids }
        })
        .collect();
    if let Some(more @ 1..) = nameless.checked_sub(DESCRIBED) {
        diagnostics
            .push(Diagnostic::warning(format!("the same holds for the ids of {more} more attributes")));
    }
    places
}

/// Where the ids of an attribute lie, as the {offset, size} after it says; takes their bytes from `budget`.
fn ids_at(file: &[u8], place: &[u8], budget: &mut usize) -> Option<Range<usize>> {
    let mut place = Fields::new(place);
    let start = usize::try_from(place.u64()?).ok()?;
    let size = usize::try_from(place.u64()?).ok()?;
    *budget = budget.checked_sub(size)?;
    let end = start.checked_add(size)?;
    (end <= file.len()).then_some(start..end)
}

/// Gives events the names that records of a stream give them: (one of the event's ids, the name).
pub(crate) fn name_by_ids<'a>(attrs: &mut [Attr], names: impl Iterator<Item = (u64, &'a [u8])>) {
    let by_id = ById::new(attrs);
    for (id, name) in names {
        if let Some(attr) = by_id.get(id).and_then(|index| attrs.get_mut(index)) {
            attr.name = Some(text(name));
        }
    }
}
