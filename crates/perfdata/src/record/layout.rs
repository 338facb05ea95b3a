//! Where time, thread, CPU and id stand in a record, by the attribute it belongs to.
//!
//! A sample has them at its front, every other kernel record in a trailer at its end (`sample_id_all`). Which
//! of them exist, [`Attr::sample_type`] says; their order is fixed (`include/uapi/linux/perf_event.h`).

use model::{Cpu, PerfTime, ThreadId};

use crate::attr::{Attr, ById, sample_type as st};
use crate::bytes::{Fields, u64_at};
use crate::tracepoint::{Formats, TracepointFormat};

/// What a trailer can hold.
const TRAILER: u64 = st::TID | st::TIME | st::ID | st::STREAM_ID | st::CPU | st::IDENTIFIER;
/// What stands in a sample before and at its time.
const PREFIX: u64 = st::IDENTIFIER | st::IP | st::TID | st::TIME;

/// The fields that samples and trailers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) thread: Option<ThreadId>,
    pub(crate) time: Option<PerfTime>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) id: Option<u64>,
}

/// What a file says about its records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'a> {
    pub(crate) attrs: &'a [Attr],
    pub(crate) layout: &'a Layout,
    pub(crate) formats: &'a Formats,
}

impl<'a> Schema<'a> {
    /// The format of the payload of an attribute's samples, where it is a tracepoint.
    pub(super) fn format_of(self, attr: usize) -> Option<&'a TracepointFormat> {
        let place = self.layout.formats.get(attr).copied().flatten()?;
        self.formats.at(place)
    }
}

/// How to find the attribute and the time of any record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    by_id: ById,
    /// By attribute: where its format stands.
    formats: Vec<Option<usize>>,
    /// `sample_type` of each attribute.
    types: Vec<u64>,
    sample_id_all: bool,
    /// Where samples of all attributes have their id, in bytes from the start of the body.
    sample_id_at: Option<usize>,
    /// Where trailers of all attributes have their id, in bytes from the end of the record.
    trailer_id_from_end: Option<usize>,
    /// What all attributes record, where they agree: then time needs no look at the id.
    common_type: Option<u64>,
    /// Which attributes request build IDs in MMAP2 records.
    with_build_ids: Vec<bool>,
}

impl Layout {
    pub(crate) fn new(attrs: &[Attr], formats: &Formats) -> Layout {
        let types: Vec<u64> = attrs.iter().map(|attr| attr.sample_type).collect();
        let sample_id_at = agreed(types.iter().map(|&bits| sample_id_at(bits)));
        let trailer_id_from_end = agreed(types.iter().map(|&bits| trailer_id_from_end(bits)));
        Layout {
            by_id: ById::new(attrs),
            formats: attrs
                .iter()
                .map(|attr| formats.place(attr.config).filter(|_| attr.is_tracepoint()))
                .collect(),
            sample_id_all: attrs.first().is_some_and(Attr::sample_id_all),
            sample_id_at,
            trailer_id_from_end,
            common_type: agreed(types.iter().map(|&bits| Some(bits & (PREFIX | TRAILER)))),
            types,
            with_build_ids: attrs.iter().map(Attr::build_id).collect(),
        }
    }

    /// Whether the event of `id` requests build IDs in its MMAP2 records. What perf wrote itself and what has no known id
    /// follows any event: perf requests them for one of its events, which need not be the first.
    pub(super) fn has_build_ids(&self, id: Option<u64>) -> bool {
        let own = id.and_then(|id| self.by_id.get(id)).and_then(|attr| self.with_build_ids.get(attr));
        own.copied().unwrap_or_else(|| self.with_build_ids.contains(&true))
    }

    /// The attribute that a sample's body belongs to.
    pub(crate) fn attr_of_sample(&self, body: &[u8]) -> Option<usize> {
        self.attr_of(self.sample_id_at.and_then(|at| u64_at(body, at)))
    }

    /// Whether samples of an unknown id can be read all the same: all attributes record the same.
    pub(crate) fn is_uniform(&self) -> bool {
        self.types.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn attr_of_trailer(&self, body: &[u8]) -> Option<usize> {
        let at = self.trailer_id_from_end.and_then(|back| body.len().checked_sub(back));
        self.attr_of(at.and_then(|at| u64_at(body, at)))
    }

    /// By id where there is one; the first attribute for id 0 (written by perf itself) and where no id is recorded.
    fn attr_of(&self, id: Option<u64>) -> Option<usize> {
        match id {
            Some(id) if id != 0 => self.by_id.get(id),
            _ => (!self.types.is_empty()).then_some(0),
        }
    }

    pub(crate) fn sample_type(&self, attr: usize) -> u64 {
        self.types.get(attr).copied().unwrap_or(0)
    }

    /// Splits the body of a record that is no sample into its own fields and its trailer.
    pub(crate) fn split_trailer<'a>(&self, body: &'a [u8]) -> (&'a [u8], Identity) {
        match self.split(body) {
            Some((own, trailer, bits)) => (own, parse_trailer(trailer, bits).unwrap_or_default()),
            None => (body, Identity::default()),
        }
    }

    /// The own fields of a record that is no sample: its body without its trailer.
    pub(super) fn own_fields<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        self.split(body).map_or(body, |(own, ..)| own)
    }

    /// Its own fields, its trailer, and what that holds; `None` where it has none, or is too short for it.
    fn split<'a>(&self, body: &'a [u8]) -> Option<(&'a [u8], &'a [u8], u64)> {
        let bits = self.sample_id_all.then(|| self.trailer_type(body))?;
        let (own, trailer) = body.split_at_checked(body.len().checked_sub(trailer_length(bits))?)?;
        Some((own, trailer, bits))
    }

    /// What the trailer of a record that is no sample holds. A record of an unknown id still has one; all attributes
    /// of one file nearly always agree on it.
    fn trailer_type(&self, body: &[u8]) -> u64 {
        self.common_type.unwrap_or_else(|| self.sample_type(self.attr_of_trailer(body).unwrap_or(0)))
    }

    /// The raw time of a record that is no sample.
    pub(crate) fn trailer_time(&self, body: &[u8]) -> Option<u64> {
        if !self.sample_id_all {
            return None;
        }
        let bits = self.trailer_type(body);
        if bits & st::TIME == 0 {
            return None;
        }
        let from_end = trailer_length(bits) - width(bits & st::TID);
        u64_at(body, body.len().checked_sub(from_end)?)
    }

    /// The raw time of a sample.
    pub(crate) fn sample_time(&self, body: &[u8]) -> Option<u64> {
        let bits = match self.common_type {
            Some(bits) => bits,
            None => self.sample_type(self.attr_of_sample(body)?),
        };
        let at = width(bits & (st::IDENTIFIER | st::IP | st::TID));
        (bits & st::TIME != 0).then(|| u64_at(body, at)).flatten()
    }
}

/// What all agree on; `None` where they do not, or where none has it.
fn agreed<T: Copy + PartialEq>(mut positions: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = positions.next()??;
    positions.all(|position| position == Some(first)).then_some(first)
}

/// All fields counted here are eight bytes wide.
pub(super) fn width(bits: u64) -> usize {
    bits.count_ones() as usize * 8
}

fn sample_id_at(bits: u64) -> Option<usize> {
    if bits & st::IDENTIFIER != 0 {
        return Some(0);
    }
    (bits & st::ID != 0).then(|| width(bits & (st::IP | st::TID | st::TIME | st::ADDR)))
}

fn trailer_id_from_end(bits: u64) -> Option<usize> {
    if bits & st::IDENTIFIER != 0 {
        return Some(8);
    }
    (bits & st::ID != 0).then(|| width(bits & (st::ID | st::STREAM_ID | st::CPU)))
}

fn trailer_length(bits: u64) -> usize {
    width(bits & TRAILER)
}

fn parse_trailer(trailer: &[u8], bits: u64) -> Option<Identity> {
    let mut fields = Fields::new(trailer);
    let mut identity = Identity::default();
    if bits & st::TID != 0 {
        identity.thread = Some(ThreadId::new(fields.i32()?, fields.i32()?));
    }
    if bits & st::TIME != 0 {
        identity.time = time(fields.u64()?);
    }
    if bits & st::ID != 0 {
        identity.id = Some(fields.u64()?);
    }
    if bits & st::STREAM_ID != 0 {
        fields.u64()?;
    }
    if bits & st::CPU != 0 {
        identity.cpu = cpu(fields.u32()?);
        fields.u32()?;
    }
    if bits & st::IDENTIFIER != 0 {
        identity.id = Some(fields.u64()?);
    }
    if identity.time.is_none() {
        // Written by perf itself: thread, CPU and id are zero and mean nothing.
        return Some(Identity::default());
    }
    Some(identity)
}

/// A time out of a record. Zero and all ones are perf's ways to say that there is none. It gives the sums of `--off-cpu` times one after the
/// other from `OFF_CPU_TIMESTAMP` on (`tools/perf/util/bpf_off_cpu.c`), so that they stand last; a clock that ran below zero is far above them.
pub(crate) fn time(raw: u64) -> Option<PerfTime> {
    const OFF_CPU_TIMESTAMP: u64 = !0 << 32;
    /// Many more than perf's map holds.
    const MOST_SUMS: u64 = 1 << 24;
    let is_sum = raw.wrapping_sub(OFF_CPU_TIMESTAMP) < MOST_SUMS;
    (raw != 0 && raw != u64::MAX && !is_sum).then_some(PerfTime(raw))
}

/// A CPU out of a record; all ones stand for none.
pub(crate) fn cpu(raw: u32) -> Option<Cpu> {
    (raw != u32::MAX).then_some(Cpu(raw))
}

/// A pid followed by a tid.
pub(super) fn thread(fields: &mut Fields<'_>) -> Option<ThreadId> {
    Some(ThreadId::new(fields.i32()?, fields.i32()?))
}
